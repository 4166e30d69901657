//! The spans and events of a gate over real calls. A separate program, because the tests of a program share
//! tracing's global state.

mod common;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use common::{Limit, Server};
use tidegate_tower::local::Share;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Outcome, Policy, Quota};
use tidegate_tower::{Gate, SendThrough};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;

type Values = HashMap<&'static str, String>;

/// The fields of each span, in order of creation.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(Id, Values)>>>);

struct Fields<'a>(&'a mut Values);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// The messages of warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            let mut fields = HashMap::new();
            event.record(&mut Fields(&mut fields));
            self.0.lock().unwrap().extend(fields.remove("message"));
        }
    }
}

impl<S: tracing::Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if attributes.metadata().target().starts_with("tidegate_tower") {
            let mut fields = HashMap::new();
            attributes.record(&mut Fields(&mut fields));
            self.0.lock().unwrap().push((id.clone(), fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some((_, fields)) =
            self.0.lock().unwrap().iter_mut().rev().find(|span| span.0 == *id)
        {
            values.record(&mut Fields(fields));
        }
    }
}

#[tokio::test]
async fn each_attempt_has_a_span() {
    let spans = Spans::default();
    let _local = tracing::subscriber::set_default(Registry::default().with(spans.clone()));
    let server = Server::start(Limit::NONE).await;
    let client = reqwest::Client::new();
    let gate = Gate::new(Policy::new(Fixed::UNLIMITED));
    client.get(server.url("/throttled-once")).send_through(&gate).await.unwrap();

    let spans = spans.0.lock().unwrap();
    let of = |field| spans.iter().map(|span| span.1.get(field).cloned()).collect::<Vec<_>>();
    assert_eq!(of("http.request.resend_count"), [None, Some("1".to_owned())]);
    let outcomes = ["\"throttled\"", "\"ok\""].map(|text| Some(text.to_owned()));
    assert_eq!(of("tidegate.outcome"), outcomes);
    assert_eq!(of("tidegate.key"), vec![Some(format!("{:?}", server.address.to_string())); 2]);
}

#[tokio::test]
async fn a_budget_that_cannot_be_shared_is_reported_once() {
    use std::os::unix::fs::PermissionsExt;

    let warnings = Warnings::default();
    let _local = tracing::subscriber::set_default(Registry::default().with(warnings.clone()));
    let folder = std::env::temp_dir().join(format!("tg-spans-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&folder, open).unwrap();
    let hundred = Quota::per_second(100).unwrap();
    let gate = |share: Share| {
        Gate::builder(Policy::new(Fixed::new(hundred))).share(share).unwrap().build()
    };
    let share = Share::new("default").folder(&folder);
    let open = gate(share.clone().alone(hundred));
    for key in ["a", "b", "a", "b"] {
        open.key(key).run(|| async { Outcome::Ok }).await.unwrap();
    }
    let reported = std::mem::take(&mut *warnings.0.lock().unwrap());
    assert!(matches!(&reported[..], [one] if one.contains("is open to others")), "{reported:?}");

    // A folder in place of each file that a record needs.
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    let made = gate(share);
    made.key("a").run(|| async { Outcome::Ok }).await.unwrap();
    made.close().await;
    let record = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    std::fs::create_dir(record.with_extension(format!("budget.{}.new", std::process::id())))
        .unwrap();
    for _ in 0..20 {
        made.key("a").run(|| async { Outcome::Ok }).await.unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let reported = std::mem::take(&mut *warnings.0.lock().unwrap());
    assert!(matches!(&reported[..], [one] if one.contains("cannot be written")), "{reported:?}");
}
