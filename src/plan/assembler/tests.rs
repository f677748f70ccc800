//! Tests of loops and blocks.

use super::Expansion;
use crate::plan::Variant;
use crate::ragged::DType;

#[apply(unit_test)]
fn loops_write_their_lines_once_for_each_value() {
    let plain = Variant::of(DType::F32, &["ON"]);
    let expand = |text: &'static str| {
        let mut expansion = Expansion {
            flags: &["ON"],
            variant: &plain,
            params: &[],
            names: [("COUNT", "4"), ("STEP", "16")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into(),
            blocks: Vec::new(),
            indent: 0,
            included: Vec::new(),
            out: String::new(),
        };
        let lines: Vec<&str> = text.lines().collect();
        expansion.expand(&lines).map(|()| expansion.out)
    };
    let twice = "#for s COUNT / 2\nv[$(s)] = x[$(STEP + 2 * s * STEP + 1)u];\n#endfor\nend";
    assert_eq!(
        expand(twice).unwrap(),
        "v[0] = x[17u];\nv[1] = x[49u];\nend\n"
    );
    let nested = "#for i 2\n#if !ON\nno\n#else\n#for j i + 1\n$(i)$(j)\n#endfor\n#endif\n#endfor";
    assert_eq!(expand(nested).unwrap(), "00\n10\n11\n");
    let operators = "$(2 + COUNT * STEP / 3 % 5 - 1) $($(COUNT) * 2)";
    assert_eq!(expand(operators).unwrap(), "2 8\n");
    let texts =
        "#for x side at in a f(p,q) q + 1u, b column0 0\n$(x)$(COUNT) = $(side) + $(at);\n#endfor";
    assert_eq!(
        expand(texts).unwrap(),
        "a4 = f(p,q) + q + 1u;\nb4 = column0 + 0;\n"
    );
    let inner = "#for x X in a COUNT, b STEP; s $(X) / 4\n$(x)$(s)\n#endfor";
    assert_eq!(expand(inner).unwrap(), "a0\nb0\nb1\nb2\nb3\n");
    let compared = "#for s COUNT\n#if 1 < s\n#if s * 8 == STEP\n$(s)\n#endif\n#else\n\
         #if $(s) == 0\nx\n#endif\n#endif\n#endfor";
    assert_eq!(expand(compared).unwrap(), "x\n2\n");
    let block = "#block load x k\nlet $(x) = $(k);\n\n    #use both\n#endblock\n\
         #block both\ny\n#endblock\n{\n    #use load a0, (k + 1u)\n}";
    assert_eq!(
        expand(block).unwrap(),
        "{\n    let a0 = (k + 1u);\n\n        y\n}\n"
    );
    for wrong in [
        "#for s COUNT\n$(s)",
        "#for s MANY\n#endfor",
        "#for s 1\n$(t)\n#endfor",
        "$(s)",
        "#for",
        "#endfor",
        "$(1 / 0)",
        "$(1 - 2)",
        "$(COUNT",
        "#for x y in a b, c\n#endfor",
        "#block b\n",
        "#block b x\n#endblock\n#use b",
        "#use b",
        "#if s < COUNT\n#endif",
    ] {
        assert!(expand(wrong).is_err(), "{wrong}");
    }
}
