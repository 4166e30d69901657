/** A lane whose calls are sent with leases: either lane class, with a courier. */

import { Rejected } from "../errors.js";
import type { Lanes } from "../gate.js";
import type { Call, House, Lane } from "../lane.js";
import type { Carrier, Keep } from "./carrier.js";
import type { LeaseCore } from "./core.js";
import { Courier } from "./courier.js";

/** A lane that implements waiting. */
interface SolidLane extends Lane {
  wait(call: Call): Promise<number>;
}

/** Classes of such lanes. */
export interface SolidLanes {
  new (key: string, gate: number, house: House): SolidLane;
  readonly expiry: number;
}

/** A lane that `leased` creates. */
export interface LeasedLane extends Lane {
  /** Whether nothing is in progress, leased or requested. */
  isSpare(stale: number): boolean;
  /** Returns all leases, and pauses until a call needs one. */
  rest(): void;
}

/** The same lane class with leases. Open lanes are in `lanes`; `missed` receives errors. */
export const leased = (Kind: SolidLanes, carry: Carrier, keep: Keep, lanes: Set<LeasedLane>, missed: (key: string, error: unknown) => void): Lanes => {
  /** The last lane found without leases. */
  let spare: LeasedLane | undefined;

  class Leased extends Kind {
    readonly #courier: Courier;

    constructor(key: string, gate: number, house: House) {
      super(key, gate, house);
      this.#courier = new Courier(house.core as LeaseCore, this, carry, keep, house.now, house.timers, (error) => missed(key, error));
      lanes.add(this);
    }

    wanting(): number {
      // Removes calls at the front that never woke.
      super.isIdle();
      return this.waiting;
    }

    /** Leases are lost with their lane, so lanes without leases are removed first. */
    override isIdle(stale = -Infinity): boolean {
      if (!super.isIdle(stale)) return false;
      if (this.isSpare(stale)) return true;
      if (!spare?.isSpare(stale)) spare = [...lanes].find((lane) => lane.isSpare(stale));
      return !spare;
    }

    isSpare(stale: number): boolean {
      const hasNothing = !this.#courier.isAsking && !(this.house.core as LeaseCore).available_leases(this.gate);
      return hasNothing && !this.closed && super.isIdle(stale);
    }

    /** Nothing changes before an answer, and no answer arrives before a request is due. */
    patience(time: number): number {
      return this.#courier.patience(time);
    }

    override take(requests: number, tokens: number): number {
      check(requests, tokens);
      return this.#look(super.take(requests, tokens));
    }

    override join(call: Call, time: number): number {
      check(call.requests, call.tokens);
      return this.#look(super.join(call, time));
    }

    protected override next(time: number): number {
      return this.#look(super.next(time));
    }

    #look(answer: number): number {
      this.#courier.look(this.house.now(), true);
      return answer;
    }

    override learn(permit: number, outcome: number): number {
      const time = super.learn(permit, outcome);
      if (!this.closed) this.#courier.look(time, true);
      return time;
    }

    rest(): void {
      this.#courier.rest();
    }

    override close(): void {
      if (!lanes.delete(this)) return;
      this.#courier.close();
      super.close();
    }
  }
  return Leased;
};

function check(requests: number, tokens: number): void {
  if (requests !== 1 || tokens) throw new Rejected("TOO_BIG", "a shared budget counts calls: omit the option cost");
}
