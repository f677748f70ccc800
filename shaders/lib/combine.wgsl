// The function of a row of the table in src/ops/ambient: V, the type in which it is computed; R, the type of a result;
// `value`, the function itself; and for two operands `combine`, where an operand may have no entry: in_a and in_b say
// which have one. OVERLAP: unless both have one, the result is 0, and the kernel gives two zeros for x and y.
//
// Uses: E, the row's texts, and what its expression uses.
#if CONCAT
// Joins the halves of a word, each given in a word whose other half is zero.
alias V = E;
alias R = E;
fn combine(x: V, y: V, in_a: bool, in_b: bool) -> R {
    return x + y;
}
#else
#if !I32
#if !U32
#include "nan"
#include "ends"
#endif
#endif
#for file in $(FILES)
#include "$(file)"
#endfor
alias V = $(COMPUTED);
alias R = $(RESULT);
#if OWN
#generate "own"
#endif
#if THREE
fn value(x: $(FIRST), y: V, z: V) -> R {
    return $(VALUE);
}
#else
fn value(x: V, y: V) -> R {
    return $(VALUE);
}
fn combine(x: V, y: V, in_a: bool, in_b: bool) -> R {
#if $(MISSING) == Zero
    return value(x, y);
#endif
#if $(MISSING) == Product
    return value(x, y);
#endif
#if $(MISSING) == Overlap
    // naga writes the HLSL of R() twice if there is also a V() of the same type.
    var none: R;
    return select(none, value(x, y), in_a && in_b);
#endif
#if $(MISSING) == Alone
    return select(select(y, x, in_a), value(x, y), in_a && in_b);
#endif
}
#endif
#endif
