/**
 * Receives webhook deliveries and verifies their signatures, without dependencies.
 *
 *   WEBHOOK_SECRET=… PORT=8080 node receiver.ts        (Node 23.6 or newer runs TypeScript directly)
 *
 * It listens on HOST (default: 127.0.0.1). It responds with 204 to genuine deliveries and with 401 to others.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const secret = process.env['WEBHOOK_SECRET'] ?? '';
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const REMEMBERED = 100_000;

/** Accepted deliveries, oldest first. In production, use a table with a unique column instead. */
const accepted = new Set<string>();

if (secret === '') {
  console.error('Set WEBHOOK_SECRET to the secret of your webhook');
  process.exit(2);
}

const server = createServer((request, response) => {
  receive(request, response).catch(() => response.destroy());
});
server.listen(Number(process.env['PORT'] ?? 8080), process.env['HOST'] ?? '127.0.0.1', () => {
  const { address, port } = server.address() as AddressInfo;
  console.log(`listening at http://${address}:${port}`);
});
process.once('SIGTERM', () => server.close(() => process.exit(0)));

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = (status: number) => void response.writeHead(status).end();
  if (request.method !== 'POST') return answer(405);
  const body = await bytesOf(request);
  if (body === null) return answer(413);
  if (!isGenuine(request, body)) return answer(401);
  const delivery = headerOf(request, 'x-service-delivery');
  if (accepted.has(delivery)) {
    console.log(`again ${delivery}`);
    return answer(204);
  }
  const event = eventIn(body);
  if (event === null) return answer(400);
  keep(delivery);
  console.log(`event ${event.event} ${event.id} of ${event.timestamp} in delivery ${delivery}`);
  // Respond as soon as the event is stored, and process it afterwards.
  answer(204);
}

/** Returns the raw bytes, which the signature covers; null if there are too many. */
async function bytesOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** During the rotation of a secret, the second header contains the signature made with the old secret. */
function isGenuine(request: IncomingMessage, body: Buffer): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  return ['x-service-signature', 'x-service-signature-previous'].some((name) => {
    const given = Buffer.from(headerOf(request, name));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function eventIn(body: Buffer): { id: string; event: string; timestamp: string } | null {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function keep(delivery: string): void {
  accepted.add(delivery);
  const [oldest] = accepted;
  if (accepted.size > REMEMBERED && oldest !== undefined) accepted.delete(oldest);
}

function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}
