//! Parsers for option values. Each error says what the value must be.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Outage {
    pub from: Duration,
    pub to: Duration,
}

pub fn limit(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".into()),
        Ok(calls) => Ok(calls),
        Err(_) => Err("it must be a whole number of calls, such as 60".into()),
    }
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    const HOUR: f64 = 3_600.0;
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= HOUR => Ok(Duration::from_secs_f64(value)),
        Ok(value) if value > HOUR => Err("it must be at most an hour".into()),
        Ok(_) => Err("it must be longer than zero".into()),
        Err(_) => Err("it must be a number of seconds, such as 10 or 2.5".into()),
    }
}

fn moment(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err("a time cannot be negative".into());
    }
    match humantime::parse_duration(text) {
        Ok(time) if u64::try_from(time.as_nanos()).is_ok() => Ok(time),
        Ok(_) => Err("it must be at most five hundred years".into()),
        Err(_) => Err("write a number with its unit, such as 500ms, 20s or 1h".into()),
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    match moment(text)? {
        Duration::ZERO => Err("it must be longer than zero".into()),
        time => Ok(time),
    }
}

pub fn short(text: &str) -> Result<Duration, String> {
    match moment(text)? {
        time if time > Duration::from_secs(60) => Err("it must be at most 60s".into()),
        time => Ok(time),
    }
}

pub fn outage(text: &str) -> Result<Outage, String> {
    let (from, to) = text.split_once("..").ok_or("write a start and an end, such as 4s..6s")?;
    let (from, to) = (moment(from)?, moment(to)?);
    if from < to { Ok(Outage { from, to }) } else { Err("it must end after it begins".into()) }
}
