//! tower's layers against every mood.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate_tower::{Call, Describe, Gate, PeekLayer, Standard, ThrottleLayer};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::mood::Act;
use crate::{MOODS, Mood, Server, life};

/// How long each mood lasts, and the number of seconds in which a client adapts.
const TIME: Duration = Duration::from_secs(7);
const START: usize = 3;
const DEADLINE: Duration = Duration::from_secs(3);
/// A call that takes this long does not end. A busy machine takes some seconds more than the time limit.
const LONG: Duration = Duration::from_secs(20);
/// The pause of a worker after each call. Without the layer, the workers make 67 calls a second.
const PAUSE: Duration = Duration::from_millis(60);
/// The most calls per second to a server that serves none.
const MOST_THROTTLED: u64 = 50;
/// The highest share of a processor. A client above it spins.
const MOST_PROCESSOR: f64 = 0.35;
/// The highest memory use of all clients and servers, in KiB.
const MOST_MEMORY: u64 = 128 << 10;
/// The longest wait: two hours, one of which spreads a fleet; or a day and a quarter for a hinted
/// period.
const MOST_WAIT: Duration = Duration::from_secs(108_000);

/// Whether some responses are those of a served call. A body that is slow, long or cut off says nothing of a limit.
fn seems_served(mood: Mood) -> bool {
    mood.serves() || matches!(mood.act, Act::TrickleBody(_) | Act::FloodBody | Act::CutBody)
}

/// Four workers make one call after the other. Each call ends, and none stops the client for good.
async fn meet<S, B>(name: &'static str, service: S, url: String, gate: Gate)
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error: Send, Future: Send>,
    S: Clone + Send + 'static,
    B: Send,
{
    let (begun, mut workers) = (Instant::now(), JoinSet::new());
    for _ in 0..4 {
        let (service, url) = (service.clone(), url.clone());
        workers.spawn(async move {
            while begun.elapsed() < TIME {
                let request = Request::get(&url).body(Full::default()).unwrap();
                let call = timeout(LONG, service.clone().oneshot(request)).await;
                drop(call.unwrap_or_else(|_| panic!("{name}: a call does not end")));
                sleep(PAUSE).await;
            }
        });
    }
    workers.join_all().await;
    let stats = gate.stats();
    assert_eq!((stats.in_flight, stats.waiting), (0, 0), "{name}");
    let wait = gate.key(name).peek().unwrap();
    assert!(wait <= MOST_WAIT, "{name}: the client is stopped for {wait:?}");
}

/// A client with `ThrottleLayer`, and one that also reads bodies, meet each mood at the same time.
async fn meet_all(servers: &[Server; 2]) {
    let mut meetings = JoinSet::new();
    for &mood in MOODS.iter() {
        let describe = move |request: &Request<Full<Bytes>>, call: Call| {
            Standard.describe(request, call).key(mood.name).with_timeout(DEADLINE)
        };
        let client = || Client::builder(TokioExecutor::new()).build_http();
        let urls = servers.each_ref().map(|server| server.url(mood));
        let [plain, reads] = [(); 2].map(|()| Gate::adaptive());
        let [plain_url, reads_url] = urls;
        let layer = ThrottleLayer::new(plain.clone()).describe(describe);
        let service = ServiceBuilder::new().layer(layer).service(client());
        meetings.spawn(meet(mood.name, service, plain_url, plain));
        let layer = ThrottleLayer::new(reads.clone()).describe(describe);
        let reader = PeekLayer::new().graphql();
        let service = ServiceBuilder::new().layer(layer).layer(reader).service(client());
        meetings.spawn(meet(mood.name, service, reads_url, reads));
    }
    while let Some(met) = meetings.join_next().await {
        met.unwrap();
    }
}

#[test]
fn no_mood_stops_the_layers_or_makes_them_spin_flood_the_server_or_use_up_memory() {
    // The clients run in this thread, the servers in another one.
    let theirs = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let ours = Builder::new_current_thread().enable_all().build().unwrap();
    let servers = [(); 2].map(|()| theirs.block_on(Server::open(Vec::new())).unwrap());
    let (before, begun) = (life::processor(), Instant::now());
    ours.block_on(meet_all(&servers));
    let share = life::processor()
        .zip(before)
        .map(|(after, before)| (after - before).as_secs_f64() / begun.elapsed().as_secs_f64());
    assert!(share.is_none_or(|share| share <= MOST_PROCESSOR), "{share:?} of a processor");
    let memory = life::most_memory();
    assert!(memory.is_none_or(|memory| memory <= MOST_MEMORY), "{memory:?} KiB");
    // This closes the connections of the clients.
    drop(ours);
    for server in servers {
        for &mood in MOODS.iter() {
            let calls = server.calls(mood);
            assert!(!calls.is_empty(), "{}: no call arrived", mood.name);
            let busiest = calls.iter().skip(START).max().copied().unwrap_or(0);
            let floods = busiest > MOST_THROTTLED && !seems_served(mood);
            assert!(!floods, "{}: {calls:?}", mood.name);
        }
        let closing = Instant::now();
        while server.connections() > 0 {
            assert!(closing.elapsed() < LONG, "{} connections stay open", server.connections());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
