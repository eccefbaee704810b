"""Expected output of a debugger for the variables in fixture.cpp: a table for each stop in look().

TEXT is the exact output of gdb and LLDB. HOLDS lists parts of outputs that also contain addresses or depend on
the debugger.
"""
MATRIX = "\n  [[ 1.5000, -2.2500,  3.0000],\n   [ 4.0000,  5.0000,  6.0000]]"

TEXT = [
    {  # tensors()
        "f32": "f32 [2, 3]" + MATRIX,
        "f64": "f64 [3] [2., 2., 2.]",
        "i64": "i64 [4] [0, 1, 2, 3]",
        "flags": "bool [2, 3]\n  [[false, false,  true],\n   [ true,  true,  true]]",
        "number": "f32 [] 0.1250",
        "special": "f32 [4] [       nan,       -inf, 0.0000e+00, 1.0000e+09]",
        "small": "f64 [2] [1.0000e-07, 1.0000e-07]",
        "long_row": "f32 [100] [ 0.,  1.,  2., …, 97., 98., 99.]",
        "view": "f32 [3, 2] strides [1, 3]\n"
                "  [[ 1.5000,  4.0000],\n   [-2.2500,  5.0000],\n   [ 3.0000,  6.0000]]",
        "piece": "f32 [2, 2] strides [3, 1] offset 1\n"
                 "  [[-2.2500,  3.0000],\n   [ 5.0000,  6.0000]]",
        "expanded": "f32 [2, 3] strides [0, 1] offset 3\n  [[4., 5., 6.],\n   [4., 5., 6.]]",
        "empty": "f32 [0, 3]",
        "nothing": "undefined",
        "shape_only": "undefined, f32 [2, 3] without values",
        "source": "undefined, f32 [2, 3] without values",
        "thief": "f32 [2, 3]" + MATRIX,
        "past": "f32 [8] <outside its storage>",
        "zeroed": "undefined",
        "all_ones": "<not initialized: rank -1>",
        "all_sevens": "<not initialized: rank 117901063>",
        "no_storage": "f32 [2, 3] <unreadable>",
        "no_node": "f32 [2, 3] <unreadable>" + MATRIX,
    },
    {  # others()
        "shape": "[2, 3]",
        "bad_shape": "<not initialized: rank 2139062143>",
        "everything": "everything",
        "causal": "causal(offset 0)",
        "late": "causal(offset 2)",
        "padding": "lengths(what …, lengths [3, 1], one false)",
        "both": "(causal(offset 0) & lengths(what …, lengths [3, 1], one false))",
        "dense": "dense(allowed bool [2, 2], shape [1, 1, 2, 2])",
        "written": "f32 [2] [4., 4.]",
        "not_saved": "nothing",
        "no_gradient": "nothing",
        "whole": "f32 [2] [4., 4.]",
        "part": "slice axis 1 start 4 step 2 of f32 [2] [4., 4.]",
        "rows": "rows [0, 1] of f32 [2] [4., 4.]",
    },
    {  # graph(), before the backward pass
        "x": "f32 [2, 2] leaf #6 requires_grad\n  [[1., 2.],\n   [3., 3.]]",
        "frozen": "f32 [1] leaf #7 frozen [1.]",
        "y": "f32 [2, 2] from softmax #8 requires_grad\n  [[0.2689, 0.7311],\n   [0.5000, 0.5000]]",
        "z": "f32 [2, 2] from cube #11 requires_grad\n  [[0.0195, 0.3907],\n   [0.1250, 0.1250]]",
        "loss": "f32 [] from sum #12 requires_grad 0.6602",
        "leaf": "leaf #6 [2, 2]",
        "node": "softmax #8 [2, 2] ← leaf #6",
        "bad_node": "<unreadable>",
        "made_y": "softmax #8",
        "no_maker": "none",
    },
    {  # graph(), after it
        "x": "f32 [2, 2] leaf #6 requires_grad with grad\n  [[1., 2.],\n   [3., 3.]]",
        "leaf": "leaf #6 [2, 2] grad f32 [2, 2] [[-0.2726, 0.2726], [0.0000, 0.0000]]",
        "node": "softmax #8 [2, 2] used",
    },
]

HOLDS = [
    {
        "eight": ["f32 [2, 2, 2, 2, 2, 2, 2, 2]\n  [[[[[[[[ 0.,  1.],", "…"],
        "wide": ["f32 [4, 4, 4, 4, 4, 4]", "[  4.,   5.", "…"],
    },
    {
        "borrowed": ["8 bytes at 0x", "version 0 borrowed"],
        "saved_written": ["f32 [2] [4., 4.] MODIFIED since it was saved, at ", "fixture.cpp:"],
        "net": ["Tiny eval", "up", "f32 [3, 2] leaf #1 requires_grad", "bias", "undefined",
                "1 × Linear", "f64 [2]"],
        "module": ["Tiny eval", "up", "f32 [3, 2] leaf #1 requires_grad"],
        "bad_module": ["Module"],
    },
    {"node": ["softmax #8 [2, 2] ← leaf #6"]},
    {},
]
LAYER = "Linear eval {weight f32 [3, 2] leaf #1 requires_grad, bias undefined, provider none}"
LONGEST = 3000  # characters of any of these
