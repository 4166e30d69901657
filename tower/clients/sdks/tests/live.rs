//! Each SDK against a server on loopback that limits like its API.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessageArgs, CreateChatCompletionRequestArgs,
};
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tidegate_tower::Gate;
use tidegate_tower::tidegate::Policy;
use tidegate_tower::tidegate::law::Adaptive;
use tidegate_tower_sdks::{github, openai};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A server that answers with `answer`. Returns its address.
async fn serve(answer: impl Fn() -> Response + Clone + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback(async move || {
        tokio::time::sleep(Duration::from_millis(5)).await;
        answer()
    });
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    format!("http://{address}")
}

#[derive(Default)]
struct Seen {
    served: u32,
    rejected: u32,
}

/// A burst of twenty requests and 200 a second, a hundred thousand tokens a minute; each call uses
/// 50.
fn openai_server(seen: Arc<Mutex<Seen>>) -> impl Fn() -> Response + Clone {
    let bucket = Arc::new(Mutex::new((20.0_f64, Instant::now())));
    move || {
        let (mut bucket, mut seen) = (bucket.lock().unwrap(), seen.lock().unwrap());
        let now = Instant::now();
        let level = (bucket.0 + (now - bucket.1).as_secs_f64() * 200.0).min(20.0);
        let served = level >= 1.0;
        *bucket = (if served { level - 1.0 } else { level }, now);
        let headers = [
            ("x-ratelimit-limit-requests", "20".to_owned()),
            ("x-ratelimit-remaining-requests", bucket.0.floor().to_string()),
            ("x-ratelimit-reset-requests", format!("{}ms", ((20.0 - bucket.0) * 5.0).ceil())),
            ("x-ratelimit-limit-tokens", "100000".to_owned()),
            ("x-ratelimit-remaining-tokens", (100_000 - seen.served * 50).to_string()),
            ("x-ratelimit-reset-tokens", "1m0s".to_owned()),
        ];
        if !served {
            seen.rejected += 1;
            let error = json!({ "error": {
                "message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded",
            }});
            let wait = [("retry-after-ms", "5")];
            return (StatusCode::TOO_MANY_REQUESTS, headers, wait, axum::Json(error))
                .into_response();
        }
        seen.served += 1;
        let completion = json!({
            "id": "1", "object": "chat.completion", "created": 1, "model": "small",
            "choices": [{
                "index": 0, "finish_reason": "stop", "logprobs": null,
                "message": { "role": "assistant", "content": "hello" },
            }],
            "usage": { "prompt_tokens": 25, "completion_tokens": 25, "total_tokens": 50 },
        });
        (headers, axum::Json(completion)).into_response()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_openai_is_paced_by_requests_and_tokens() {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let api = serve(openai_server(seen.clone())).await;
    let gate = Gate::new(Policy::of([Adaptive::DEFAULT; 2]).backoff(None));
    let config = OpenAIConfig::new().with_api_base(api).with_api_key("none");
    let client = openai(gate.clone(), config, 50);
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let client = client.clone();
        tasks.spawn(async move {
            let message = ChatCompletionRequestUserMessageArgs::default().content("hi").build()?;
            let request = CreateChatCompletionRequestArgs::default()
                .model("small")
                .messages([message.into()])
                .build()?;
            client.chat().create(request).await
        });
    }
    while let Some(done) = tasks.join_next().await {
        let completion = done.unwrap().unwrap();
        assert_eq!(completion.choices[0].message.content.as_deref(), Some("hello"));
    }
    let (seen, stats) = (seen.lock().unwrap(), gate.stats());
    assert_eq!((seen.served, stats.counts.ok), (100, 100));
    assert_eq!(stats.counts.throttled, seen.rejected);
    assert_eq!((stats.in_flight, stats.waiting), (0, 0));
}

/// Thirty calls in each two seconds. Further calls are forbidden until they have passed.
fn github_server(seen: Arc<Mutex<Seen>>) -> impl Fn() -> Response + Clone {
    let window = Arc::new(Mutex::new((0, 0)));
    move || {
        let (mut window, mut seen) = (window.lock().unwrap(), seen.lock().unwrap());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        if now / 2 != window.0 {
            *window = (now / 2, 0);
        }
        let served = window.1 < 30;
        window.1 += i32::from(served);
        let headers = [
            ("x-ratelimit-limit", "30".to_owned()),
            ("x-ratelimit-remaining", (30 - window.1).to_string()),
            ("x-ratelimit-reset", ((window.0 + 1) * 2).to_string()),
            ("x-ratelimit-resource", "core".to_owned()),
        ];
        if !served {
            seen.rejected += 1;
            let error = json!({ "message": "API rate limit exceeded", "documentation_url": "" });
            return (StatusCode::FORBIDDEN, headers, axum::Json(error)).into_response();
        }
        seen.served += 1;
        (headers, axum::Json(json!({ "number": seen.served }))).into_response()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn octocrab_waits_for_the_window_to_end() {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let api = serve(github_server(seen.clone())).await;
    let gate = Gate::new(Policy::adaptive());
    let octocrab = github(gate.clone(), api.parse().unwrap());
    let mut tasks = JoinSet::new();
    for number in 0..70 {
        let octocrab = octocrab.clone();
        let route = format!("/repos/{number}");
        tasks.spawn(async move { octocrab.get::<Value, _, ()>(route, None).await });
    }
    while let Some(done) = tasks.join_next().await {
        assert!(done.unwrap().unwrap()["number"].is_u64());
    }
    let (seen, stats) = (seen.lock().unwrap(), gate.stats());
    assert_eq!((seen.served, stats.counts.ok), (70, 70));
    assert_eq!(stats.counts.throttled, seen.rejected);
}
