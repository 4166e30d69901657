//! The spans of a gate over real calls. A separate program, because the tests of a program share
//! tracing's global state.

mod common;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use common::{Limit, Server};
use tidegate_tower::tidegate::Policy;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::{Gate, SendThrough};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
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
