//! Replays responses of servers.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};
use tidegate::signal::body::Body;
use tidegate::signal::http::{Limit, Reading, Unit};
use tidegate::signal::{aws, coap, grpc, mqtt};
use tidegate::{Hint, Outcome, Reply, Span};

use crate::Played;
use crate::value::{Read, at, field, given, list, same, small, span, spelt, text};

pub(crate) fn http(vector: &Value) -> Played {
    let mut reading = Reading::new(small(field(vector, "status")?)?);
    let headers = list(field(vector, "headers")?)?;
    for header in headers {
        reading.header(bytes(at(header, 0)?)?, bytes(at(header, 1)?)?);
    }
    let answer = reading.finish(given(field(vector, "clock")?, span)?);
    same("the outcome", field(vector, "outcome")?, &outcome(answer.outcome))?;
    same("the hint", field(vector, "hint")?, &hint(&answer.hint))?;
    let limits: Vec<Value> = answer.limits().map(limit).collect();
    same("the limits", field(vector, "limits")?, &Value::from(limits))?;
    same("the number of ignored headers", field(vector, "ignored")?, &Value::from(answer.ignored))?;
    Ok(headers.len().max(1))
}

pub(crate) fn grpc(vector: &Value) -> Played {
    let pushback = given(field(vector, "pushback")?, bytes)?;
    let reply: Reply = grpc::reply(small(field(vector, "code")?)?, b"", pushback.as_deref(), None);
    answer(vector, &reply)
}

pub(crate) fn coap(vector: &Value) -> Played {
    let option = given(field(vector, "option")?, bytes)?;
    let age = option.as_deref().and_then(coap::max_age);
    let expected = field(vector, "age")?;
    same("the age", expected, &age.map_or(Value::Null, Value::from))?;
    let reply: Reply = coap::reply(small(field(vector, "code")?)?, age);
    answer(vector, &reply)
}

pub(crate) fn mqtt(vector: &Value) -> Played {
    let said = mqtt::outcome(small(field(vector, "code")?)?);
    same("the outcome", field(vector, "outcome")?, &outcome(said)).map(|()| 1)
}

pub(crate) fn aws(vector: &Value) -> Played {
    let said = aws::outcome(bytes(field(vector, "code")?)?).map_or(Value::Null, outcome);
    same("the outcome", field(vector, "outcome")?, &said).map(|()| 1)
}

pub(crate) fn body(vector: &Value) -> Played {
    let text = text(field(vector, "body")?)?;
    let mut body = Body::new();
    body.feed(text);
    let mut byte_by_byte = Body::new();
    text.as_bytes().chunks(1).for_each(|byte| byte_by_byte.feed(byte));
    if byte_by_byte != body {
        return Err(String::from("the result depends on the chunks of the body"));
    }
    let status = small(field(vector, "status")?)?;
    let said = body.outcome(status).map_or(Value::Null, outcome);
    same("the outcome", field(vector, "outcome")?, &said)?;
    let number = |number: Option<u64>| number.map_or(Value::Null, spelt);
    let after = body.retry_after().map(Span::as_nanos);
    same("the wait", field(vector, "after")?, &number(after))?;
    same("the tokens", field(vector, "tokens")?, &number(body.tokens().map(u64::from)))?;
    same("the points", field(vector, "points")?, &hint(&body.points())).map(|()| 1)
}

fn answer(vector: &Value, reply: &Reply) -> Played {
    same("the outcome", field(vector, "outcome")?, &outcome(reply.outcome))?;
    same("the hint", field(vector, "hint")?, &hint(&reply.hints[0])).map(|()| 1)
}

/// Text whose characters each stand for one byte, also above 0x7F.
fn bytes(value: &Value) -> Read<Vec<u8>> {
    let byte =
        |letter: char| u8::try_from(u32::from(letter)).map_err(|_| format!("{value}: not a byte"));
    text(value)?.chars().map(byte).collect()
}

fn outcome(outcome: Outcome) -> Value {
    Value::from(match outcome {
        Outcome::Ok => "ok",
        Outcome::Throttled => "throttled",
        Outcome::Busy => "busy",
        Outcome::Failed => "failed",
        Outcome::Abandoned => "abandoned",
        Outcome::Exhausted => "exhausted",
    })
}

fn hint(hint: &Hint) -> Value {
    let span = |span: Span| span.as_nanos();
    let numbers = [
        ("after", hint.retry_after.map(span)),
        ("left", hint.remaining),
        ("reset", hint.reset.map(span)),
        ("limit", hint.limit),
        ("period", hint.period.map(span)),
    ];
    let mut said = Map::new();
    for (name, number) in numbers {
        if let Some(number) = number {
            said.insert(name.into(), spelt(number));
        }
    }
    for (name, is_told) in [("no_retry", hint.no_retry), ("concurrency", hint.concurrency)] {
        if is_told {
            said.insert(name.into(), Value::from(true));
        }
    }
    Value::from(said)
}

fn limit(limit: Limit) -> Value {
    let unit = match limit.unit {
        Unit::Requests => "requests",
        Unit::Tokens => "tokens",
        Unit::InputTokens => "input",
        Unit::OutputTokens => "output",
        Unit::Bytes => "bytes",
        Unit::InFlight => "in-flight",
        _ => "other",
    };
    let mut said = hint(&limit.hint);
    if let (Some(cost), Some(said)) = (limit.cost, said.as_object_mut()) {
        said.insert("cost".into(), Value::from(cost));
    }
    Value::from([Value::from(unit), said])
}
