# What type checkers and editors see of the names that `symacct` loads when they are first used.

from symacct import testing as testing
from symacct.accounting import (
    Account as Account,
)
from symacct.accounting.comparison import (
    compare as compare,
)
from symacct.accounting.times import (
    times as times,
)
from symacct.answers import (
    check as check,
)
from symacct.answers import (
    read_answer as read_answer,
)
from symacct.api import (
    account as account,
)
from symacct.api import (
    bytes as bytes,
)
from symacct.api import (
    flops as flops,
)
from symacct.api import (
    intensity as intensity,
)
from symacct.api import (
    matmul_flops as matmul_flops,
)
from symacct.checkpointing import (
    Stage as Stage,
)
from symacct.checkpointing import (
    checkpoint as checkpoint,
)
from symacct.checkpointing import (
    checkpoint_curve as checkpoint_curve,
)
from symacct.conventions import (
    Convention as Convention,
)
from symacct.errors import (
    SymacctError as SymacctError,
)
from symacct.explanation import (
    explain as explain,
)
from symacct.expr import (
    ceildiv as ceildiv,
)
from symacct.expr import (
    floordiv as floordiv,
)
from symacct.expr.public import (
    dims as dims,
)
from symacct.expr.public import (
    loads as loads,
)
from symacct.expr.public import (
    same as same,
)
from symacct.functions import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
)
from symacct.functions import (
    adaptive_avg_pool2d as adaptive_avg_pool2d,
)
from symacct.functions import (
    adaptive_avg_pool3d as adaptive_avg_pool3d,
)
from symacct.functions import (
    adaptive_max_pool1d as adaptive_max_pool1d,
)
from symacct.functions import (
    adaptive_max_pool2d as adaptive_max_pool2d,
)
from symacct.functions import (
    adaptive_max_pool3d as adaptive_max_pool3d,
)
from symacct.functions import (
    arange as arange,
)
from symacct.functions import (
    argmax as argmax,
)
from symacct.functions import (
    associative_scan as associative_scan,
)
from symacct.functions import (
    avg_pool1d as avg_pool1d,
)
from symacct.functions import (
    avg_pool2d as avg_pool2d,
)
from symacct.functions import (
    avg_pool3d as avg_pool3d,
)
from symacct.functions import (
    batch_norm as batch_norm,
)
from symacct.functions import (
    cast as cast,
)
from symacct.functions import (
    causal_mask as causal_mask,
)
from symacct.functions import (
    chunk as chunk,
)
from symacct.functions import (
    clone as clone,
)
from symacct.functions import (
    concat as concat,
)
from symacct.functions import (
    condition as condition,
)
from symacct.functions import (
    contiguous as contiguous,
)
from symacct.functions import (
    conv1d as conv1d,
)
from symacct.functions import (
    conv2d as conv2d,
)
from symacct.functions import (
    conv3d as conv3d,
)
from symacct.functions import (
    conv_transpose1d as conv_transpose1d,
)
from symacct.functions import (
    conv_transpose2d as conv_transpose2d,
)
from symacct.functions import (
    conv_transpose3d as conv_transpose3d,
)
from symacct.functions import (
    cross_entropy as cross_entropy,
)
from symacct.functions import (
    cumsum as cumsum,
)
from symacct.functions import (
    detach as detach,
)
from symacct.functions import (
    dropout as dropout,
)
from symacct.functions import (
    embedding as embedding,
)
from symacct.functions import (
    erf as erf,
)
from symacct.functions import (
    exp as exp,
)
from symacct.functions import (
    flip as flip,
)
from symacct.functions import (
    full as full,
)
from symacct.functions import (
    gather as gather,
)
from symacct.functions import (
    gelu as gelu,
)
from symacct.functions import (
    group_norm as group_norm,
)
from symacct.functions import (
    grouped_matmul as grouped_matmul,
)
from symacct.functions import (
    layer_norm as layer_norm,
)
from symacct.functions import (
    linear_recurrence as linear_recurrence,
)
from symacct.functions import (
    log as log,
)
from symacct.functions import (
    log_softmax as log_softmax,
)
from symacct.functions import (
    logsumexp as logsumexp,
)
from symacct.functions import (
    max_pool1d as max_pool1d,
)
from symacct.functions import (
    max_pool2d as max_pool2d,
)
from symacct.functions import (
    max_pool3d as max_pool3d,
)
from symacct.functions import (
    maximum as maximum,
)
from symacct.functions import (
    minimum as minimum,
)
from symacct.functions import (
    mse_loss as mse_loss,
)
from symacct.functions import (
    one_hot as one_hot,
)
from symacct.functions import (
    ones as ones,
)
from symacct.functions import (
    opaque as opaque,
)
from symacct.functions import (
    pad as pad,
)
from symacct.functions import (
    relu as relu,
)
from symacct.functions import (
    rms_norm as rms_norm,
)
from symacct.functions import (
    roll as roll,
)
from symacct.functions import (
    rotary as rotary,
)
from symacct.functions import (
    rsqrt as rsqrt,
)
from symacct.functions import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from symacct.functions import (
    scatter_add as scatter_add,
)
from symacct.functions import (
    sigmoid as sigmoid,
)
from symacct.functions import (
    silu as silu,
)
from symacct.functions import (
    softmax as softmax,
)
from symacct.functions import (
    sort as sort,
)
from symacct.functions import (
    split as split,
)
from symacct.functions import (
    sqrt as sqrt,
)
from symacct.functions import (
    stack as stack,
)
from symacct.functions import (
    tanh as tanh,
)
from symacct.functions import (
    tile as tile,
)
from symacct.functions import (
    top_k as top_k,
)
from symacct.functions import (
    transfer as transfer,
)
from symacct.functions import (
    tril as tril,
)
from symacct.functions import (
    triu as triu,
)
from symacct.functions import (
    where as where,
)
from symacct.functions import (
    window_mask as window_mask,
)
from symacct.functions import (
    zeros as zeros,
)
from symacct.hardware import (
    Device as Device,
)
from symacct.hardware import (
    device as device,
)
from symacct.hardware import (
    devices as devices,
)
from symacct.hardware import (
    link as link,
)
from symacct.hardware import (
    load_devices as load_devices,
)
from symacct.hardware import (
    peak as peak,
)
from symacct.measuring.calibration import (
    calibrate as calibrate,
)
from symacct.measuring.timing import (
    measure as measure,
)
from symacct.memory import (
    bytes_per_parameter as bytes_per_parameter,
)
from symacct.memory import (
    fit as fit,
)
from symacct.nests import (
    lower_bound as lower_bound,
)
from symacct.nests import (
    orders as orders,
)
from symacct.optimizers import (
    optimizer as optimizer,
)
from symacct.plot import (
    draw as draw,
)
from symacct.runs import (
    days as days,
)
from symacct.runs import (
    mfu as mfu,
)
from symacct.runs import (
    training_run as training_run,
)
from symacct.symbolic.control import (
    cond as cond,
)
from symacct.symbolic.control import (
    repeat as repeat,
)
from symacct.symbolic.control import (
    scope as scope,
)
from symacct.units import (
    Quantity as Quantity,
)
from symacct.units import (
    quantity as quantity,
)
from symacct.worked import (
    Worked as Worked,
)
from symacct.worked import (
    load_worked as load_worked,
)

__version__: str
