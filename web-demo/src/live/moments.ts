/** The demo's reports: several a second, and a last one when it ends. */

export interface Row { offered: number; served: number; throttled: number; outage: number }

export interface Process extends Row {
  /** The last wait that its controller returned. */
  wait_ms: number;
}

export interface Moment {
  /** The API, if one is running. */
  api: { url: string; about: string } | null;
  /** The fleet's run, if there is a fleet. */
  run: { law: string; seconds: number; workers: number } | null;
  /** Seconds that this API has been running. */
  now: number;
  /** Calls a second that it would serve now. */
  allowed: number;
  total: Row;
  /** The calls of callers outside the fleet: this page and any others. */
  others: Row;
  processes: Process[];
}

/** Listens until the demo ends or the connection is lost. */
export function listen(then: (moment: Moment) => void, over: () => void): void {
  const source = new EventSource(new URL("events", document.baseURI));
  const end = () => {
    source.close();
    over();
  };
  source.addEventListener("message", ({ data }: MessageEvent<string>) => {
    const moment = JSON.parse(data) as Partial<Moment>;
    // Reports before the first run are empty.
    if (moment.total) then(moment as Moment);
  });
  source.addEventListener("end", end);
  source.addEventListener("error", end);
}
