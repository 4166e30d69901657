/** What the demo tells of itself, a few times a second, and at last that it is over. */

export interface Row { offered: number; served: number; throttled: number; outage: number }

export interface Process extends Row {
  /** The wait that its controller handed out last. */
  wait_ms: number;
  /** What `adaptive` goes by; nothing for other laws. */
  steers_by: string | null;
}

export interface Moment {
  /** The API, while there is one to call. */
  api: { url: string; about: string } | null;
  /** What the fleet runs; nothing where there is no fleet. */
  run: { law: string; seconds: number; workers: number } | null;
  /** Seconds that this API has been running. */
  now: number;
  /** Calls a second that it would serve at this moment. */
  allowed: number;
  total: Row;
  /** What it counted of callers outside the fleet: this page, and any others. */
  others: Row;
  processes: Process[];
}

/** Listens until the demo is over, or cannot be heard any more. */
export function listen(then: (moment: Moment) => void, over: () => void): void {
  const source = new EventSource(new URL("events", document.baseURI));
  const end = () => {
    source.close();
    over();
  };
  source.addEventListener("message", ({ data }: MessageEvent<string>) => {
    const moment = JSON.parse(data) as Partial<Moment>;
    // Before the first run there is nothing to tell.
    if (moment.total) then(moment as Moment);
  });
  source.addEventListener("end", end);
  source.addEventListener("error", end);
}
