//! Replays responses of servers.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;
use tidegate::signal::body::Body;
use tidegate::signal::http::{Reading, Unit};
use tidegate::signal::{aws, coap, grpc, mqtt};
use tidegate::{Hint, Reply};

use crate::Played;
use crate::value::{Read, at, field, given, hint, list, outcome, same, small, span, text};

pub(crate) fn http(vector: &Value) -> Played {
    let mut reading = Reading::new(small(field(vector, "status")?)?);
    let headers = list(field(vector, "headers")?)?;
    for header in headers {
        reading.header(bytes(at(header, 0)?)?, bytes(at(header, 1)?)?);
    }
    let answer = reading.finish(given(field(vector, "clock")?, span)?);
    same("the outcome", &outcome(field(vector, "outcome")?)?, &answer.outcome)?;
    same("the hint", &hint(field(vector, "hint")?)?, &answer.hint)?;
    let limits = list(field(vector, "limits")?)?.iter().map(limit).collect::<Read<Vec<_>>>()?;
    let said = answer.limits().map(|limit| (unit(limit.unit), limit.hint, limit.cost));
    same("the limits", &limits, &said.collect())?;
    same("the number of ignored headers", &small(field(vector, "ignored")?)?, &answer.ignored)?;
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
    same("the age", &given(field(vector, "age")?, small)?, &age)?;
    let reply: Reply = coap::reply(small(field(vector, "code")?)?, age);
    answer(vector, &reply)
}

pub(crate) fn mqtt(vector: &Value) -> Played {
    let said = mqtt::outcome(small(field(vector, "code")?)?);
    same("the outcome", &outcome(field(vector, "outcome")?)?, &said).map(|()| 1)
}

pub(crate) fn aws(vector: &Value) -> Played {
    let said = aws::outcome(bytes(field(vector, "code")?)?);
    same("the outcome", &given(field(vector, "outcome")?, outcome)?, &said).map(|()| 1)
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
    let expected = given(field(vector, "outcome")?, outcome)?;
    same("the outcome", &expected, &body.outcome(status))?;
    same("the wait", &given(field(vector, "after")?, span)?, &body.retry_after())?;
    same("the tokens", &given(field(vector, "tokens")?, small)?, &body.tokens())?;
    same("the points", &hint(field(vector, "points")?)?, &body.points()).map(|()| 1)
}

fn answer(vector: &Value, reply: &Reply) -> Played {
    same("the outcome", &outcome(field(vector, "outcome")?)?, &reply.outcome)?;
    same("the hint", &hint(field(vector, "hint")?)?, &reply.hints[0]).map(|()| 1)
}

/// Text whose characters each stand for one byte, also above 0x7F.
fn bytes(value: &Value) -> Read<Vec<u8>> {
    let byte =
        |letter: char| u8::try_from(u32::from(letter)).map_err(|_| format!("{value}: not a byte"));
    text(value)?.chars().map(byte).collect()
}

/// `[unit, hint]`, where the hint may have the cost of the call.
fn limit(value: &Value) -> Read<(&str, Hint, Option<u32>)> {
    let said = at(value, 1)?;
    Ok((text(at(value, 0)?)?, hint(said)?, said.get("cost").map(small).transpose()?))
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Requests => "requests",
        Unit::Tokens => "tokens",
        Unit::InputTokens => "input",
        Unit::OutputTokens => "output",
        Unit::Bytes => "bytes",
        Unit::InFlight => "in-flight",
        _ => "other",
    }
}
