//! One budget for processes on one machine: the seat, the files, the folder, other versions. The
//! fleet of Node and Rust processes is in `wasm/test/fleets.test.mjs`.

use std::fs::{self, Permissions};
use std::num::NonZeroU16;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tidegate_tower::local::Share;
use tidegate_tower::tidegate::gate::RetryBudgetPolicy;
use tidegate_tower::tidegate::law::{Aimd, AnyLaw, Fixed};
use tidegate_tower::tidegate::{Outcome, Policy, Quota, Ratio, Reason, Span};
use tidegate_tower::{Error, Gate, ThrottleLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

const KEY: &str = "api";

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tg-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        Self(folder)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("default")
    }

    fn gate(&self) -> Gate {
        self.gate_of(per_second(50))
    }

    fn share(&self) -> Share {
        Share::new("default").folder(&self.0)
    }

    fn gate_of<L: Copy + Into<AnyLaw>>(&self, policy: Policy<L>) -> Gate {
        gate(policy, self.share())
    }

    fn record(&self) -> Option<PathBuf> {
        let mut files = fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path());
        files.find(|file| file.extension().is_some_and(|end| end == "budget"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn gate<L: Copy + Into<AnyLaw>>(policy: Policy<L>, share: Share) -> Gate {
    Gate::builder(policy).share(share).unwrap().build()
}

fn per_second(calls: u64) -> Policy<Fixed> {
    Policy::new(Fixed::new(Quota::per_second(calls).unwrap()))
}

async fn call(gate: &Gate) {
    call_of(gate, KEY).await;
}

async fn call_of(gate: &Gate, key: &str) {
    let call = gate.key(key).run(|| async { Outcome::Ok });
    assert_eq!(timeout(LONG, call).await.expect("it hangs"), Ok(Outcome::Ok));
}

/// What is given up after this time hangs.
const LONG: Duration = Duration::from_secs(20);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_first_process_holds_the_budget_and_the_others_lease_from_it() {
    let folder = Folder::new();
    let gates = [folder.gate(), folder.gate(), folder.gate()];
    for gate in [0, 1, 1, 0].map(|gate: usize| &gates[gate]) {
        assert_eq!(gate.check().await, Ok(()));
    }
    assert!(folder.socket().exists());
    for _ in 0..10 {
        for gate in &gates {
            call(gate).await;
        }
    }
    assert_eq!(gates.each_ref().map(|gate| gate.budget(KEY).is_some()), [true, false, false]);
    let alone: u32 = gates.iter().map(|gate| gate.stats().sharing.alone).sum();
    assert_eq!((alone, gates[1].trouble(KEY)), (0, None));
    assert!(gates[0].stats().sharing.members >= 2);
}

#[tokio::test]
async fn the_calls_of_keys_beyond_the_most_continue_and_are_counted() {
    let folder = Folder::new();
    let gate = folder.gate();
    for key in 0..258 {
        call_of(&gate, &key.to_string()).await;
    }
    let stats = gate.stats().sharing;
    assert_eq!((stats.alone, stats.troubled), (2, 2));
    let trouble = gate.trouble("257").unwrap().to_string();
    assert!(trouble.contains("at most 256 budgets"), "{trouble}");
}

#[tokio::test]
async fn only_the_user_can_access_the_folder_the_socket_and_the_files() {
    let folder = Folder::new();
    let within = folder.0.join("made");
    let gate = gate(Policy::adaptive(), Share::new("default").folder(&within));
    call(&gate).await;
    assert_eq!((mode(&within), mode(&within.join("default"))), (0o700, 0o600));
    assert!(fs::read_dir(&within).unwrap().all(|file| mode(&file.unwrap().path()) == 0o600));
}

#[tokio::test]
async fn a_folder_that_is_open_to_others_is_not_used_and_calls_continue() {
    let folder = Folder::new();
    fs::set_permissions(&folder.0, Permissions::from_mode(0o755)).unwrap();
    let gate = folder.gate();
    assert_eq!((gate.check().await.is_err(), gate.stats().sharing.troubled), (true, 0));
    call(&gate).await;
    assert_eq!((gate.stats().sharing.alone, gate.stats().sharing.troubled), (1, 1));
    let trouble = gate.trouble(KEY).unwrap().to_string();
    assert!(trouble.contains("is open to others or belongs to another user"), "{trouble}");
}

#[tokio::test]
async fn a_file_that_is_not_a_socket_is_not_replaced_and_calls_continue() {
    let folder = Folder::new();
    fs::write(folder.socket(), "mine").unwrap();
    let gate = folder.gate();
    call(&gate).await;
    let trouble = gate.trouble(KEY).unwrap().to_string();
    let path = folder.socket().display().to_string();
    assert!(trouble.contains(&path) && trouble.contains("is not a socket"), "{trouble}");
    assert_eq!(gate.check().await, Err(gate.trouble(KEY).unwrap()));
    gate.close().await;
    assert_eq!(fs::read_to_string(folder.socket()).unwrap(), "mine");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[tokio::test]
async fn a_process_that_has_ended_or_does_not_answer_loses_the_seat() {
    for is_dead in [true, false] {
        let folder = Folder::new();
        let frozen = Some(UnixListener::bind(folder.socket()).unwrap()).filter(|_| !is_dead);
        let gate = folder.gate();
        call(&gate).await;
        assert!(gate.budget(KEY).is_some());
        drop(frozen);
        call(&gate).await;
        assert!(gate.budget(KEY).is_some(), "the end of the other has disturbed it");
        assert_eq!(gate.stats().sharing.alone, 0);
    }
}

#[tokio::test]
async fn a_gate_that_lost_its_seat_grants_nothing_and_asks_the_new_holder() {
    let folder = Folder::new();
    let (first, second) = (folder.gate(), folder.gate());
    call(&first).await;
    // What happens to the seat of a process that was frozen for long enough.
    fs::rename(folder.socket(), folder.0.join("aside")).unwrap();
    call(&second).await;
    assert!(second.budget(KEY).is_some());
    assert!(first.budget(KEY).is_none());
    while second.budget(KEY).unwrap().members < 2 {
        call(&first).await;
    }
    assert_eq!(first.stats().sharing.alone + second.stats().sharing.alone, 0);
}

#[tokio::test]
async fn files_that_are_deleted_give_nobody_the_burst_again() {
    // The next holder is the former one, or another.
    for (with_folder, next) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        let folder = Folder::new();
        let gates =
            [0; 3].map(|_| folder.gate_of(Policy::new(Fixed::new(Quota::per_hour(1).unwrap()))));
        for gate in &gates {
            assert_eq!(gate.check().await, Ok(()));
        }
        call(&gates[2]).await;
        let record = folder.record().unwrap();
        if with_folder {
            fs::remove_dir_all(&folder.0).unwrap();
        } else {
            fs::remove_file(record).unwrap();
            fs::remove_file(folder.socket()).unwrap();
        }
        let second = gates[next].key(KEY).with_timeout(Duration::from_secs(1)).acquire().await;
        let is_late = matches!(second, Err(Error::Rejected { reason: Reason::Late(_), .. }));
        assert!(is_late && gates[next].budget(KEY).is_some(), "{with_folder}, {next}: {second:?}");
    }
}

#[tokio::test]
async fn a_closed_gate_returns_its_leases_and_its_seat() {
    let folder = Folder::new();
    let (first, second) = (folder.gate(), folder.gate());
    for _ in 0..10 {
        tokio::join!(call(&first), call(&second));
    }
    let (held, other) = if first.budget(KEY).is_some() { (first, second) } else { (second, first) };
    while held.budget(KEY).unwrap().members < 2 {
        tokio::join!(call(&held), call(&other));
    }
    other.close().await;
    assert_eq!((held.budget(KEY).unwrap().members, other.stats().sharing.available_leases), (1, 0));
    held.close().await;
    assert!(!folder.socket().exists());
    // A later call starts again.
    call(&other).await;
    assert!(other.budget(KEY).is_some());
}

#[tokio::test]
async fn a_process_whose_connection_ends_has_left_at_once() {
    let folder = Folder::new();
    let (held, other) = (folder.gate(), folder.gate());
    call(&held).await;
    while held.budget(KEY).unwrap().members < 2 {
        call(&other).await;
        call(&held).await;
    }
    drop(other);
    // A silent member keeps its share for ten seconds.
    for _ in 0..100 {
        call(&held).await;
    }
    assert_eq!(held.budget(KEY).unwrap().members, 1);
}

#[tokio::test]
async fn the_policy_of_the_process_that_joined_last_applies_and_the_others_report_it() {
    let folder = Folder::new();
    let mut gates: Vec<Gate> = Vec::new();
    // The last one is set at run time.
    for (latest, calls) in [100, 50, 100, 200].into_iter().enumerate() {
        if latest < 3 {
            gates.push(folder.gate_of(per_second(calls)));
        } else {
            gates[1].set_policy(per_second(calls));
        }
        let applies = |gate: &Gate| {
            let interval = gate.budget(KEY).and_then(|budget| budget.interval);
            interval == Some(Duration::from_secs(1) / calls as u32)
        };
        let joined = if latest < 3 { latest } else { 1 };
        while !applies(&gates[joined]) {
            futures_util::future::join_all(gates.iter().map(call)).await;
        }
        // The same policy again is nothing new.
        gates[0].set_policy(per_second(100));
        for _ in 0..100 {
            futures_util::future::join_all(gates.iter().map(call)).await;
        }
        assert!(applies(&gates[joined]), "an earlier policy has replaced it");
        let troubles =
            gates.iter().map(|gate| gate.trouble(KEY).map(|trouble| trouble.to_string()));
        let expected =
            [[false; 3], [true, false, false], [false, true, false], [true, false, true]];
        let (mut told, own) = (troubles.collect::<Vec<_>>(), [100, 50, 100]);
        told.resize(3, None);
        for (index, is_told) in expected[latest].into_iter().enumerate() {
            assert_eq!(told[index].is_some(), is_told, "{index} of {latest}: {told:?}");
            if let Some(told) = &told[index] {
                let named = |calls: u64| {
                    told.contains(&format!("{:?}", AnyLaw::from(per_second(calls).laws()[0])))
                };
                assert!(named(own[index]) && named(calls), "{told}");
            }
        }
    }
}

#[tokio::test]
async fn the_last_request_of_a_process_does_not_replace_the_policy() {
    let folder = Folder::new();
    let share = || folder.share().heartbeat(Duration::from_secs(5));
    let of = |calls| gate(per_second(calls), share());
    let (held, other) = (of(50), of(100));
    call(&held).await;
    call(&other).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    other.close().await;
    assert!(held.budget(KEY).is_some());
}

#[tokio::test]
async fn the_record_outlives_the_process_that_wrote_it() {
    let folder = Folder::new();
    let gate = || folder.gate_of(Policy::new(Aimd::DEFAULT));
    let first = gate();
    for _ in 0..20 {
        call(&first).await;
    }
    let interval = first.budget(KEY).unwrap().interval.unwrap();
    first.close().await;
    let second = gate();
    call(&second).await;
    let learnt = second.budget(KEY).unwrap().interval.unwrap();
    assert!(learnt < interval * 3 / 2, "{interval:?} between two calls, and then {learnt:?}");
}

#[tokio::test]
async fn the_last_record_of_a_former_holder_is_replaced() {
    let folder = Folder::new();
    let gate = folder.gate_of(per_second(1_000));
    call(&gate).await;
    let record = folder.record().unwrap();
    let (aside, old) = (folder.0.join("old"), fs::read(&record).unwrap());
    fs::write(&aside, &old).unwrap();
    fs::rename(&aside, &record).unwrap();
    while fs::read(&record).unwrap() == old {
        call(&gate).await;
    }
}

#[tokio::test]
async fn a_damaged_file_is_ignored() {
    let folder = Folder::new();
    let first = folder.gate();
    call(&first).await;
    first.close().await;
    let written = fs::read(folder.record().unwrap()).unwrap();
    let flipped: Vec<u8> = written.iter().map(|byte| !byte).collect();
    let mut last = written.clone();
    *last.last_mut().unwrap() ^= 1;
    for damaged in [&written[..0], &written[..30], &flipped, &last] {
        fs::write(folder.record().unwrap(), damaged).unwrap();
        let next = folder.gate();
        call(&next).await;
        next.close().await;
    }
}

#[tokio::test]
async fn a_holder_of_another_version_or_program_is_reported_and_calls_continue() {
    for (greeting, named) in [
        (&b"tidegate\x07"[..], "speaks version 7 of the local protocol, and this one version 1"),
        (b"HTTP/1.1 400", "another program than tidegate uses the socket"),
    ] {
        let folder = Folder::new();
        let listener = UnixListener::bind(folder.socket()).unwrap();
        tokio::spawn(async move {
            let mut members = Vec::new();
            while let Ok((mut member, _)) = listener.accept().await {
                let _ = member.write_all(greeting).await;
                members.push(member);
            }
        });
        let gate = folder.gate();
        let error = gate.check().await.unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        call(&gate).await;
        let trouble = gate.trouble(KEY).unwrap().to_string();
        assert!(trouble.contains(named), "{trouble}");
        assert_eq!((gate.stats().sharing.alone, gate.budget(KEY)), (1, None));
    }
}

#[tokio::test]
async fn the_cause_of_a_failure_that_takes_longer_than_a_request_is_reported() {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.socket()).unwrap();
    tokio::spawn(async move {
        while let Ok((_member, _)) = listener.accept().await {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    });
    let gate = folder.gate();
    let cause = async {
        let is_told = |why: String| why.contains("other processes keep taking the socket");
        while !gate.trouble(KEY).is_some_and(|why| is_told(why.to_string())) {
            // They search one after the other, so each takes longer than a request.
            tokio::join!(call(&gate), call_of(&gate, "b"), call_of(&gate, "c"));
        }
    };
    timeout(LONG, cause).await.expect("the cause is unknown");
}

#[tokio::test]
async fn a_client_that_sends_garbage_is_disconnected_without_affecting_others() {
    let folder = Folder::new();
    let gate = folder.gate();
    call(&gate).await;
    for nonsense in [&b"hello, hello"[..], b"tidegate\x01\xff\xff\xff\xff\xff\xff\xff\xff"] {
        let mut stranger = UnixStream::connect(folder.socket()).await.unwrap();
        stranger.write_all(nonsense).await.unwrap();
        let mut told = Vec::new();
        let _ = stranger.read_to_end(&mut told).await;
        assert!(told.starts_with(b"tidegate\x01"), "{told:?}");
    }
    let mut odd = UnixStream::connect(folder.socket()).await.unwrap();
    odd.write_all(b"tidegate\x01\x09\0\0\0\x01\0\x02\0k??").await.unwrap();
    // The greeting, the policy, and the answer.
    let mut told = [0; 17];
    odd.read_exact(&mut told).await.unwrap();
    assert_eq!(told[9..15], [0, 0, 0, 0, 2, 0]);
    let mut policy = vec![0; usize::from(told[15])];
    odd.read_exact(&mut policy).await.unwrap();
    assert!(policy[12..].starts_with(b"Fixed"), "{policy:?}");
    let mut told = [0; 31];
    odd.read_exact(&mut told).await.unwrap();
    assert_eq!(told[..6], [9, 0, 0, 0, 1, 0]);
    assert!(told[8..].starts_with(b"2 bytes are not a req"), "{told:?}");
    call(&gate).await;
}

#[test]
fn an_invalid_name_and_a_path_that_is_too_long_are_rejected_at_once() {
    let long = "/tmp/".to_owned() + &"x".repeat(100);
    for (share, named) in [
        ("../other".into(), "name is \"../other\"; it must be 1 to 64"),
        ("".into(), "name is \"\""),
        (Share::new("default").folder(long), "choose a shorter folder or name"),
    ] {
        let error = Gate::builder(Policy::adaptive()).share(share).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[tokio::test]
async fn a_call_that_cannot_meet_its_deadline_is_rejected_by_then_and_at_once_if_others_wait() {
    let folder = Folder::new();
    let gate = folder.gate_of(Policy::new(Fixed::new(Quota::per_hour(6).unwrap())));
    call(&gate).await;
    let late = |error: Error| matches!(error, Error::Rejected { reason: Reason::Late(_), .. });
    let brief = gate.key(KEY).with_timeout(Duration::from_millis(300)).acquire();
    assert!(late(brief.await.unwrap_err()));
    // The next lease is ten minutes away, and another call waits for it.
    let first = gate.key(KEY).acquire();
    let behind = gate.key(KEY).with_timeout(Duration::from_secs(300)).acquire();
    let both = async {
        tokio::select! { biased; _ = first => None, second = behind => second.err() }
    };
    let error = timeout(Duration::from_secs(100), both).await.unwrap();
    assert!(error.is_some_and(late));
}

#[tokio::test]
async fn of_two_that_wait_the_one_with_the_higher_priority_is_first() {
    let folder = Folder::new();
    let gate = folder.gate();
    call(&gate).await;
    let order = std::sync::Mutex::new(Vec::new());
    let one = |priority: u8| {
        let (call, order) = (gate.key(KEY).with_priority(priority), &order);
        async move {
            let permit = call.acquire().await.unwrap();
            order.lock().unwrap().push(priority);
            permit.settle(Outcome::Ok);
        }
    };
    tokio::join!(one(0), one(0), one(3), one(7));
    let order = order.into_inner().unwrap();
    let place = |priority| order.iter().rposition(|other| *other == priority).unwrap();
    assert!(place(7) < place(3) && place(3) < place(0), "{order:?}");
}

#[tokio::test]
async fn a_peek_says_how_long_a_call_would_wait_and_changes_nothing() {
    let folder = Folder::new();
    let gate = folder.gate();
    assert_eq!(gate.key(KEY).peek(), Ok(Duration::ZERO), "a key without calls");
    call(&gate).await;
    let waiting: Vec<_> = (0..100).map(|_| Box::pin(gate.key(KEY).acquire())).collect();
    let mut waiting = futures_util::future::join_all(waiting);
    assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
    let before = gate.stats().waiting;
    let wait = gate.key(KEY).peek().unwrap();
    assert!(wait >= Duration::from_secs(1), "{before} wait, and one more would for {wait:?}");
    let soon = gate.key(KEY).with_timeout(Duration::from_millis(1)).peek();
    assert!(matches!(soon, Err(Error::Rejected { reason: Reason::Late(_), .. })), "{soon:?}");
    assert_eq!(gate.stats().waiting, before);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_gate_outlives_the_runtime_of_its_first_call() {
    let folder = Folder::new();
    let (holder, other) = (folder.gate(), folder.gate());
    for _ in 0..3 {
        runtime().block_on(async {
            for gate in [&holder, &other, &holder, &other] {
                call(gate).await;
            }
        });
    }
    assert_eq!((holder.trouble(KEY), other.trouble(KEY)), (None, None));
}

#[test]
fn a_call_that_waits_on_another_runtime_outlives_that_of_the_first_call() {
    let folder = Folder::new();
    let gate = folder.gate_of(per_second(2));
    let (first, second) = (runtime(), runtime());
    first.block_on(call(&gate));
    // These wait for the first runtime, which is never driven again, and then ends.
    let waiting = (gate.clone(), gate.clone());
    second.block_on(async {
        let calls = tokio::spawn(async move { tokio::join!(call(&waiting.0), call(&waiting.1)) });
        tokio::task::yield_now().await;
        first.shutdown_background();
        calls.await.unwrap();
    });
}

#[test]
fn neither_a_call_nor_its_deadline_depends_on_a_runtime_that_is_not_driven() {
    let (folder, other) = (Folder::new(), Folder::new());
    let hourly = Policy::new(Fixed::new(Quota::per_hour(1).unwrap()));
    let gate = folder.gate_of(hourly);
    let quick = other.gate();
    let (first, second) = (runtime(), runtime());
    first.block_on(async {
        call(&gate).await;
        call_of(&quick, "b").await;
    });
    second.block_on(async {
        let late = gate.key(KEY).with_timeout(Duration::from_millis(300)).acquire();
        let late = timeout(LONG, late).await.expect("the deadline is ignored");
        assert!(matches!(late, Err(Error::Rejected { reason: Reason::Late(_), .. })), "{late:?}");
        call_of(&quick, "b").await;
    });
    drop(first);
}

#[tokio::test]
async fn a_layer_and_calls_with_several_keys_share_budgets() {
    let folder = Folder::new();
    let (one, two) = (folder.gate(), folder.gate());
    let served = Arc::new(AtomicU32::new(0));
    let service = |gate: &Gate| {
        let served = served.clone();
        let api = service_fn(move |_: http::Request<String>| {
            let first = served.fetch_add(1, Ordering::SeqCst) == 0;
            let status = if first { 429 } else { 200 };
            async move { http::Response::builder().status(status).body("hello".to_owned()) }
        });
        ServiceBuilder::new().layer(ThrottleLayer::new(gate.clone())).service(api)
    };
    let (mut layer, begin) = (service(&one), Instant::now());
    for _ in 0..10 {
        let request = http::Request::get("http://api/").body(String::new()).unwrap();
        let response = layer.ready().await.unwrap().call(request).await.unwrap();
        assert_eq!((response.status(), one.stats().in_flight), (http::StatusCode::OK, 1));
        drop(response);
        let call = two.keys(["api", "model"]).with_timeout(Duration::from_secs(5));
        assert_eq!(call.run(|| async { Outcome::Ok }).await, Ok(Outcome::Ok));
    }
    // 21 attempts for this key in both gates.
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(350), "{took:?}");
    let counts = (one.stats().counts, two.stats().counts);
    assert_eq!((counts.0.ok, counts.0.throttled, counts.1.ok), (10, 1, 20));
    assert_eq!(one.stats().sharing.alone + two.stats().sharing.alone, 0);
}

#[tokio::test]
async fn a_response_keeps_its_place_until_it_is_read_and_teaches_then() {
    let folder = Folder::new();
    let gate = folder.gate();
    let mut permit = gate.key(KEY).acquire().await.unwrap();
    permit.learn(Outcome::Ok);
    permit.learn(Outcome::Failed);
    assert_eq!((gate.stats().in_flight, gate.stats().counts.ok), (1, 0));
    drop(permit);
    let counts = gate.stats().counts;
    assert_eq!((gate.stats().in_flight, counts.ok, counts.failed), (0, 1, 0));
    drop(gate.key(KEY).acquire().await.unwrap());
    assert_eq!(gate.stats().counts.abandoned, 1);
}

#[tokio::test]
async fn a_call_that_costs_more_than_a_lease_is_rejected_and_another_is_tried_with_a_lease() {
    let folder = Folder::new();
    let gate = folder.gate();
    let large = gate.key(KEY).costing([2]).acquire().await;
    assert!(matches!(large, Err(Error::Rejected { reason: Reason::TooBig, .. })), "{large:?}");
    while gate.key(KEY).try_acquire().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(gate.stats().sharing.alone, 0);
}

/// How often a call that always fails is tried, and why not again.
async fn attempts(gate: &Gate) -> (u32, Reason) {
    let (mut count, mut next) = (0, Ok(gate.key(KEY).idempotent().acquire()));
    loop {
        let permit = match next {
            Ok(acquire) => acquire.await,
            Err(error) => Err(error),
        };
        match permit {
            Ok(permit) => next = permit.retry(Outcome::Failed),
            Err(Error::Rejected { reason: Reason::Late(_), .. }) => {
                return (count, Reason::Late(tidegate_tower::tidegate::Instant::ZERO));
            }
            Err(Error::Rejected { reason, .. }) => return (count, reason),
            Err(error) => panic!("{error}"),
        }
        count += 1;
    }
}

#[tokio::test]
async fn a_shared_gate_retries_by_the_rules_of_its_policy() {
    let policy = per_second(1_000).backoff(None);
    let budget = RetryBudgetPolicy::new(Ratio::HALF, 4).unwrap();
    for (policy, expected) in [
        (policy, 10),
        (policy.attempts(NonZeroU16::new(3)), 3),
        (policy.attempts(NonZeroU16::new(20)), 20),
        (policy.retry_budget(Some(budget)), 5),
        (policy.elapsed(Some(Span::ZERO)), 1),
    ] {
        let folder = Folder::new();
        let shared = attempts(&folder.gate_of(policy)).await;
        assert_eq!((shared, shared.0), (attempts(&Gate::new(policy)).await, expected));
    }
    // A policy that is set later, too.
    let folder = Folder::new();
    let gate = folder.gate_of(policy);
    call(&gate).await;
    gate.set_policy(policy.attempts(NonZeroU16::new(2)));
    assert_eq!(attempts(&gate).await, (2, Reason::Attempts));
    assert_eq!(gate.stats().counts.retries, 1);
}

#[tokio::test]
async fn unused_keys_leave_the_table() {
    let folder = Folder::new();
    let gate = Gate::builder(Policy::adaptive()).keys(2).share(folder.share()).unwrap().build();
    let mut calls = 0u32;
    while calls < 6 || gate.stats().keys > 2 {
        // Until its leases are given back, a key stays.
        tokio::time::sleep(Duration::from_secs(calls.saturating_sub(5).into())).await;
        call_of(&gate, &calls.to_string()).await;
        calls += 1;
    }
    gate.close().await;
    assert_eq!((gate.stats().keys, gate.stats().counts.ok), (0, calls));
}
