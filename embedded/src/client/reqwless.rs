//! Responses of `reqwless`: the status and the headers about limits.

use embedded_io_async::Read;
use reqwless::response::Response;
use tidegate::Reply;
use tidegate::signal::http::Reading;

use crate::replied::Replied;

/// Reads the status and headers in the common dialects. For other dialects, for several limits, or
/// for dates, use [`Reading`](tidegate::signal::http::Reading).
///
/// The body is not read, so an image that does not need its parser does not contain it. If an API
/// reports a throttle only in the body, pass the reply and the first bytes of the body to
/// [`refined`](crate::refined).
impl<C: Read, const LIMITS: usize> Replied<LIMITS> for Response<'_, '_, C> {
    type Compact = Reply<LIMITS>;

    fn compact(&self) -> Reply<LIMITS> {
        let mut reading = Reading::common(self.status.0);
        for (name, value) in self.headers().take_while(|(name, _)| !name.is_empty()) {
            reading.header(name, value);
        }
        reading.reply(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refined;
    use reqwless::request::Method;
    use std::io::Cursor;
    use std::vec::Vec;
    use tidegate::{Outcome, Span};

    /// A connection to which the server has already written.
    struct Wire(Cursor<Vec<u8>>);

    impl embedded_io_async::ErrorType for Wire {
        type Error = core::convert::Infallible;
    }

    impl Read for Wire {
        async fn read(&mut self, into: &mut [u8]) -> Result<usize, Self::Error> {
            Ok(std::io::Read::read(&mut self.0, into).unwrap())
        }
    }

    /// The reply, and then with the first bytes of the body.
    fn read(text: &str) -> [Reply; 2] {
        let mut wire = Wire(Cursor::new(text.as_bytes().to_vec()));
        let mut room = [0; 1_024];
        embassy_futures::block_on(async {
            let response = Response::read(&mut wire, Method::POST, &mut room).await.unwrap();
            let (status, reply): (u16, Reply) = (response.status.0, response.reply());
            let mut first = [0; 128];
            let read = response.body().reader().read(&mut first).await.unwrap();
            [reply, refined(reply, status, first.get(..read).unwrap())]
        })
    }

    #[test]
    fn a_response_has_an_outcome_and_a_cooldown_which_the_start_of_its_body_refines() {
        let [reply, _] =
            read("HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(reply.outcome, Outcome::Throttled);
        assert_eq!(reply.hints[0].retry_after, Some(Span::from_secs(7)));
        let [reply, _] =
            read("HTTP/1.1 200 OK\r\nRateLimit: \"a\";r=3;t=10\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(reply.outcome, Outcome::Ok);
        assert_eq!(reply.hints[0].remaining, Some(3));
        let body = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        let [reply, refined] = read(&std::format!(
            "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!([reply.outcome, refined.outcome], [Outcome::Ok, Outcome::Throttled]);
        assert_eq!(refined.hints[0].retry_after, Some(Span::from_secs(60)));
    }
}
