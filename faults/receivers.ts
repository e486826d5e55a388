import { createHmac } from 'node:crypto';
import type { ServerCertificate, TestAuthority } from '../test/support/certificates.ts';
import type { Random } from '../test/support/random.ts';
import { startReceiver, type ReceivedRequest, type Receiver } from '../test/support/receiver.ts';
import type { Arrival } from './books.ts';

/** A receiver of the story: what it got, and how it behaves at present. */
export type StoryReceiver = {
  port: number;
  arrivals: Arrival[];
  /** Answers everything with this status until told null. */
  refuseWith(status: number | null): void;
  /** Sets its clock off by so many milliseconds. */
  setClock(offMs: number): void;
  /** Shows this certificate to whoever connects from now on. */
  show(certificate: ServerCertificate): void;
  /** From now on everything that comes is taken. */
  beWell(): void;
  close(): Promise<void>;
};

/** What a receiver checks or does of its own accord. */
export type Habit =
  | { kind: 'takes all' }
  /** Fails one request in so many. */
  | { kind: 'stumbles'; oneIn: number; random: Random }
  /** Verifies the signature with its time, by its own clock, as the Standard Webhooks libraries do. */
  | { kind: 'looks at the clock'; secret: string };

/** Every host that the story's receivers are known by. */
export const RECEIVER_NAMES = ['localhost', '127.0.0.1'];

/** Starts a receiver over HTTPS. */
export async function startStoryReceiver(authority: TestAuthority, habit: Habit): Promise<StoryReceiver> {
  const receiver: Receiver = await startReceiver({
    tls: await authority.issue({ names: RECEIVER_NAMES }),
    name: 'localhost',
  });
  const arrivals: Arrival[] = [];
  const openedAt = new Map<number, number>();
  let refusal: number | null = null;
  let offMs = 0;
  let isWell = false;

  function statusFor(request: ReceivedRequest): number {
    if (refusal !== null) return refusal;
    if (habit.kind === 'stumbles' && !isWell) return habit.random.whole(1, habit.oneIn) === 1 ? 500 : 204;
    if (habit.kind === 'looks at the clock') {
      return isTimely(habit.secret, request, Date.now() + offMs) ? 204 : 401;
    }
    return 204;
  }

  receiver.answering((request: ReceivedRequest) => {
    const answered = statusFor(request);
    const connectedAt = openedAt.get(request.connection) ?? request.at.getTime();
    openedAt.set(request.connection, connectedAt);
    const { headers, body, at, connection } = request;
    arrivals.push({
      at: at.getTime(),
      delivery: textOf(headers['x-service-delivery']) ?? '',
      event: textOf(headers['x-service-event']) ?? '',
      body: body.toString(),
      signature: textOf(headers['x-service-signature']),
      answered,
      connection,
      connectedAt,
    });
    return answered;
  });
  return {
    port: receiver.port,
    arrivals,
    refuseWith: (status) => void (refusal = status),
    setClock: (ms) => void (offMs = ms),
    show: (certificate) => void receiver.showing(certificate),
    beWell() {
      isWell = true;
      refusal = null;
      offMs = 0;
    },
    close: () => receiver.close(),
  };
}

/** Whether the signature fits, which covers the time of the attempt, and that time is near this clock's. */
function isTimely(secret: string, { headers, body }: ReceivedRequest, now: number): boolean {
  const [id, time, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    textOf(headers[name]),
  );
  const signed = createHmac('sha256', secret).update(`${id}.${time}.`).update(body).digest('base64');
  return given === `v1,${signed}` && Math.abs(now / 1_000 - Number(time)) <= TOLERANCE_SECONDS;
}

/** What the libraries of Standard Webhooks tolerate. */
const TOLERANCE_SECONDS = 300;

function textOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null;
}
