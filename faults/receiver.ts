import { createHmac } from 'node:crypto';
import type { ServerCertificate, TestAuthority } from '../test/support/certificates.ts';
import type { Random } from '../test/support/random.ts';
import { startReceiver, type ReceivedRequest, type Receiver } from '../test/support/receiver.ts';
import type { RequestRecord } from './records.ts';

/** A receiver with its requests, and methods that change its behavior. */
export type ScenarioReceiver = {
  port: number;
  requests: RequestRecord[];
  /** Responds to everything with this status; null ends that. */
  refuseWith(status: number | null): void;
  /** Sets the offset of its clock, in milliseconds. */
  setClockOffset(offMs: number): void;
  /** Uses this certificate for new connections. */
  useCertificate(certificate: ServerCertificate): void;
  /** Accepts all requests from now on. */
  recover(): void;
  close(): Promise<void>;
};

/** How a receiver responds. */
export type Behavior =
  | { kind: 'accept all' }
  /** Responds with 500 to one request in `oneIn`. */
  | { kind: 'fail sometimes'; oneIn: number; random: Random }
  /** Verifies the signature and its time against its own clock, as the Standard Webhooks libraries do. */
  | { kind: 'verify time'; secret: string };

/** The host names of the receivers. */
export const RECEIVER_NAMES = ['localhost', '127.0.0.1'];

/** Starts a receiver over HTTPS. */
export async function startScenarioReceiver(
  authority: TestAuthority,
  behavior: Behavior,
): Promise<ScenarioReceiver> {
  const receiver: Receiver = await startReceiver({
    tls: await authority.issue({ names: RECEIVER_NAMES }),
    name: 'localhost',
  });
  const requests: RequestRecord[] = [];
  const openedAt = new Map<number, number>();
  let refusal: number | null = null;
  let clockOffsetMs = 0;
  let hasRecovered = false;

  function chooseStatus(request: ReceivedRequest): number {
    if (refusal !== null) return refusal;
    if (behavior.kind === 'fail sometimes' && !hasRecovered)
      return behavior.random.whole(1, behavior.oneIn) === 1 ? 500 : 204;
    if (behavior.kind === 'verify time') {
      return isValidNow(behavior.secret, request, Date.now() + clockOffsetMs) ? 204 : 401;
    }
    return 204;
  }

  receiver.answering((request: ReceivedRequest) => {
    const responseStatus = chooseStatus(request);
    const connectedAt = openedAt.get(request.connection) ?? request.at.getTime();
    openedAt.set(request.connection, connectedAt);
    const { headers, body, at, connection } = request;
    requests.push({
      at: at.getTime(),
      delivery: textOf(headers['x-service-delivery']) ?? '',
      event: textOf(headers['x-service-event']) ?? '',
      body: body.toString(),
      signature: textOf(headers['x-service-signature']),
      responseStatus,
      connection,
      connectedAt,
    });
    return responseStatus;
  });
  return {
    port: receiver.port,
    requests,
    refuseWith: (status) => void (refusal = status),
    setClockOffset: (ms) => void (clockOffsetMs = ms),
    useCertificate: (certificate) => void receiver.showing(certificate),
    recover() {
      hasRecovered = true;
      refusal = null;
      clockOffsetMs = 0;
    },
    close: () => receiver.close(),
  };
}

/** Returns whether the signature is valid and the signed time of the attempt is close to `now`. */
function isValidNow(secret: string, { headers, body }: ReceivedRequest, now: number): boolean {
  const [id, time, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    textOf(headers[name]),
  );
  const signed = createHmac('sha256', secret).update(`${id}.${time}.`).update(body).digest('base64');
  return given === `v1,${signed}` && Math.abs(now / 1_000 - Number(time)) <= TOLERANCE_SECONDS;
}

/** The tolerance of the Standard Webhooks libraries. */
const TOLERANCE_SECONDS = 300;

function textOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null;
}
