//! Values far longer than any server sends. The oracle's vectors (`http.jsonl`) contain other
//! invalid values, and fuzzing (`tests/fuzz`) covers arbitrary ones.

use tidegate::Span;
use tidegate::signal::http::{Answer, Reading};

fn read(status: u16, name: &str, value: &str) -> Answer {
    let mut reading = Reading::new(status);
    reading.header(name, value);
    reading.finish(None)
}

/// Reading any of it more than a few times would take half an hour.
#[test]
fn a_quarter_megabyte_of_any_value_is_read() {
    // The longest time, 49 days.
    let longest = Some(Span::from_millis(4_294_967_294));
    for (unit, expected) in [
        ("9", longest),
        ("1m", longest),
        ("1, ", None),
        ("1,1", Some(Span::from_secs(11))),
        ("Mon, ", None),
        ("\"a\";r=1,", None),
        ("a=1,", None),
        ("\"", None),
        ("\\", None),
        (";", None),
    ] {
        let value = unit.repeat((1 << 18) / unit.len());
        let answer = read(429, "Retry-After", &value);
        assert_eq!(answer.hint.retry_after, expected, "{unit}");
        assert_eq!(answer.ignored, u16::from(expected.is_none()), "{unit}");
        for name in ["RateLimit", "RateLimit-Policy", "RateLimit-Limit", "x-amzn-errortype"] {
            assert!(read(200, name, &value).ignored <= 1, "{name}: {unit}");
        }
        assert_eq!(read(200, &value, "1"), Reading::new(200).finish(None), "{unit}");
    }
}
