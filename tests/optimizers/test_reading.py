"""A person's torch optimizer read as data; what does not show from small tensors is refused."""

from __future__ import annotations

import copy

import pytest

import symacct as sa
from symacct.errors import ConventionError, InconclusiveError, UnknownOpError
from symacct.expr import name
from symacct.optimizers import optimizer

torch = pytest.importorskip("torch")
R, C = name("r"), name("c")


class Own(torch.optim.Optimizer):
    """Keeps what `keep` says."""

    def __init__(self, params, keep=lambda p, _step: {"b": torch.zeros_like(p)}, lr=0.1):
        super().__init__(params, {"lr": lr})
        self.keep = keep

    def step(self):
        for p in (p for group in self.param_groups for p in group["params"]):
            self.state[p]["step"] = self.state[p].get("step", 0) + 1
            self.state[p].update(self.keep(p, self.state[p]["step"]))


def kept(keep):
    return {b.name: b for b in sa.optimizer(lambda params: Own(params, keep)).state}


def test_shapes_of_all_kinds():
    found = kept(
        lambda p, _: {
            "rows": torch.zeros(p.shape[:1], dtype=torch.float32),
            "flat": torch.zeros(p.numel(), dtype=p.dtype),
            "gram": [torch.zeros(p.shape[-1], p.shape[-1])] if p.ndim else [],
            "seven": torch.zeros(7, dtype=torch.int8),
        }
    )
    assert found["rows"].shape((R, C)) == (R,)
    assert found["flat"].shape((R, C)) == (R * C,)
    assert found["gram.0"].shape((R, C)) == (C, C)
    assert found["gram.0"].shape(()) is None
    assert found["seven"].shape((R, C)) == (7,)
    assert {n: b.dtype for n, b in found.items()} == {
        "rows": "fp32",
        "flat": "param",
        "gram.0": "fp32",
        "seven": "int8",
    }


@pytest.mark.parametrize(
    ("keep", "why"),
    [
        (lambda p, _: {"scales": torch.zeros(-(-p.numel() // 256))}, "'scales' is no product of sizes"),
        (lambda p, _: {"m": torch.zeros(p.shape, dtype=torch.uint8 if p.numel() > 4096 else p.dtype)}, "dtype of 'm'"),
        (lambda p, step: {f"old {step}": torch.zeros(p.shape)}, "still grew"),
        (lambda p, _: {"b": torch.zeros(p.shape)} if p.numel() > 4096 else {}, "depends on the size"),
        (lambda _p, _: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_is_not_explained_is_refused(keep, why):
    with pytest.raises(InconclusiveError, match=why):
        [buffer.shape((R, C)) for buffer in kept(keep).values()]


class Subclass(torch.Tensor):
    """As quantized tensors are: what they show is not what they store."""


class Box:
    """Holds a tensor."""

    def __init__(self, tensor):
        self.tensor = tensor


def twice(p):
    made = torch.zeros_like(p)
    return {"m": made, "n": made}


@pytest.mark.parametrize(
    ("keep", "why"),
    [
        (lambda p, step: {"m": torch.zeros_like(p)} if step >= 10 else {}, "still grew in step 3 or up to 105"),
        (lambda p, step: {"m": torch.zeros_like(p)} if step >= 100 else {}, "still grew"),
        (lambda p, _: {"m": p.data}, "'m' does not have memory of its own"),
        (lambda p, _: {"m": p.grad}, "'m' does not have memory of its own"),
        (lambda p, _: twice(p), "'n' does not have memory of its own"),
        (lambda p, _: {"m": torch.zeros(()).expand(p.shape)}, "does not have memory of its own"),
        (lambda p, _: {"m": torch.zeros(2, *p.shape)[0]}, "does not have memory of its own"),
        (lambda p, _: {"m": torch.zeros(p.shape).as_subclass(Subclass)}, "of the kind Subclass"),
        (lambda p, _: {"m": torch.zeros(p.shape).to_sparse()}, "of the kind torch.sparse_coo"),
        (lambda p, _: {"m": Box(torch.zeros(p.shape))}, "'m' keeps is in a Box"),
        (lambda p, _: {"m": p.detach().numpy().copy()}, "'m' keeps is in a ndarray"),
    ],
)
def test_what_shapes_do_not_tell_is_refused(keep, why):
    with pytest.raises(InconclusiveError, match=why):
        kept(keep)


@pytest.mark.parametrize("where", ["first", "second", "all together"])
def test_state_that_is_not_of_each_parameter_is_refused(where):
    class Some(Own):
        def step(self):
            params = self.param_groups[0]["params"]
            if where == "all together":
                self.state["all"]["m"] = torch.zeros_like(params[0])
            else:
                self.state[params[where == "second"]]["m"] = torch.zeros_like(params[0])

    why = "under 'all', which is no parameter" if where == "all together" else "alike it does not keep the same"
    with pytest.raises(InconclusiveError, match=why):
        sa.optimizer(Some)


def test_state_that_is_first_needed_in_the_second_step():
    (found,) = kept(lambda p, step: {"m": torch.zeros_like(p)} if step >= 2 else {}).values()
    assert (found.name, found.shape((R, C))) == ("m", (R, C))


@pytest.mark.parametrize(("name", "why"), [("LBFGS", "closure"), ("SparseAdam", "dense gradients")])
def test_what_takes_no_plain_step_is_refused(name, why):
    with pytest.raises(InconclusiveError, match=why):
        sa.optimizer(getattr(torch.optim, name))


def test_state_outside_the_state_is_refused():
    class Hidden(Own):
        def step(self):
            self.buffers = [torch.zeros_like(p) for p in self.param_groups[0]["params"]]

    with pytest.raises(InconclusiveError, match="outside its state, in 'buffers'"):
        sa.optimizer(Hidden)


def test_an_optimizer_inside_another_is_refused():
    class Around(Own):
        def __init__(self, params):
            super().__init__(params)
            self.inner = torch.optim.SGD(self.param_groups[0]["params"], lr=0.1, momentum=0.9)

        def step(self):
            self.inner.step()

    with pytest.raises(InconclusiveError, match="in 'inner'"):
        sa.optimizer(Around)


def test_a_function_that_makes_one_and_its_counters():
    """A counter that is a plain number is kept by Python, not in a tensor."""

    def make(params):
        return Own(params, lambda p, step: {"n": step, "m": torch.zeros_like(p)}, lr=3.0)

    assert [(b.name, b.dtype) for b in sa.optimizer(make).state] == [("m", "param")]


def test_a_class_that_cannot_be_made_without_more_says_how():
    class Needs(Own):
        def __init__(self, params, rate):
            super().__init__(params, lr=rate)

    with pytest.raises(InconclusiveError, match=r"missing 1 required.*lambda params: Needs"):
        sa.optimizer(Needs)


def test_a_number_of_axes_that_it_refuses_is_refused():
    muon = sa.optimizer(torch.optim.Muon)
    assert [b.shape((R, C)) for b in muon.state] == [(R, C)]
    with pytest.raises(InconclusiveError, match=r"1 axes.*2D"):
        muon.state[0].shape((R,))


def test_an_instance_stays_as_it_was():
    made = torch.optim.AdamW([torch.nn.Parameter(torch.ones(3, 4))], lr=0.5, amsgrad=True)
    made.param_groups[0]["params"][0].grad = torch.ones(3, 4)
    made.register_step_post_hook(lambda *_: pytest.fail("a hook of the person's ran"))
    before, random = copy.deepcopy(made.state_dict()), torch.get_rng_state()
    found = sa.optimizer(made)
    assert [b.name for b in found.state] == ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"]
    assert made.state_dict() == before
    assert not made.state
    assert torch.equal(torch.get_rng_state(), random)
    assert torch.equal(made.param_groups[0]["params"][0], torch.ones(3, 4))


def test_groups_that_differ_are_refused():
    groups = [{"params": [torch.nn.Parameter(torch.ones(3))], "amsgrad": flag} for flag in (True, False)]
    with pytest.raises(InconclusiveError, match="groups of AdamW"):
        sa.optimizer(torch.optim.AdamW(groups))


def test_what_a_step_executes_is_not_guessed():
    with pytest.raises(UnknownOpError, match="not known"):
        sa.optimizer(torch.optim.SGD).work((R, C))


def test_state_in_the_parameters_format_under_a_policy_of_fp32_state():
    adamw = sa.optimizer(torch.optim.AdamW)
    assert sa.bytes_per_parameter(adamw, "torch-bf16").total == 8
    assert sa.bytes_per_parameter(adamw, "bf16-master").total == 16
    with pytest.raises(sa.SymacctError, match="keeps 'exp_avg' in the format of what it updates, bf16"):
        sa.bytes_per_parameter(adamw, "bf16")


def test_what_takes_no_steps_or_runs_the_model_itself_is_refused():
    with pytest.raises(ConventionError, match="Linear is no optimizer, it takes no steps"):
        optimizer(torch.nn.Linear)
    with pytest.raises(ConventionError, match="int is no optimizer"):
        optimizer(int)
    with pytest.raises(InconclusiveError, match="a step of LBFGS runs the model itself"):
        optimizer(torch.optim.LBFGS)
