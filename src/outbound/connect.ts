import { request as httpRequest } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { connectionFailure, OutboundFailure, tlsFailure } from './failure.ts';

/** The destination of a request, with or without a proxy. */
export type Target = {
  /** A name, or a literal address without brackets. */
  hostname: string;
  port: number;
  secure: boolean;
};

/** An open connection. Times in milliseconds. */
export type OpenConnection = { socket: Socket; address: string; connectMs: number; tlsMs: number | null };

export type Route = {
  secureContext: SecureContext;
  /** An egress proxy that opens all connections (`CONNECT`), or null. */
  proxy: URL | null;
};

/**
 * Connects to `address`, one of the target's addresses, by TCP or through the proxy, with TLS if the target is
 * secure. The target's name is used for SNI and checked against the certificate.
 * Throws OutboundFailure `connection_failed` or `tls_failed`. Also throws when `signal` is aborted. Leaves nothing
 * open when it throws.
 */
export async function openConnection(
  target: Target,
  address: string,
  route: Route,
  signal: AbortSignal,
): Promise<OpenConnection> {
  const begun = performance.now();
  const socket =
    route.proxy === null
      ? await openTcp(address, target.port, signal)
      : await openByProxy(route.proxy, address, target.port, signal);
  const connected = performance.now();
  if (!target.secure) return { socket, address, connectMs: connected - begun, tlsMs: null };
  const secured = await startTls(socket, target.hostname, route.secureContext, signal);
  return { socket: secured, address, connectMs: connected - begun, tlsMs: performance.now() - connected };
}

async function openTcp(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host: address, port, noDelay: true });
  await waitForEvent(socket, 'connect', connectionFailure, signal);
  return socket;
}

async function startTls(
  socket: Socket,
  hostname: string,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<Socket> {
  const secured = connectTls({
    socket,
    host: hostname,
    // SNI does not allow addresses, and names have no trailing dot (RFC 6066). The certificate is checked against
    // either.
    servername: isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '',
    secureContext,
    ALPNProtocols: ['http/1.1'],
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED must not disable it.
    rejectUnauthorized: true,
  });
  await waitForEvent(secured, 'secureConnect', tlsFailure, signal);
  return secured;
}

/** Waits for `event`; destroys the socket on any other outcome. */
function waitForEvent(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  failure: (error: unknown) => OutboundFailure,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      removeListeners();
      socket.destroy();
      reject(error);
    };
    const onError = (error: unknown) => fail(failure(error));
    const onClose = () => fail(failure(undefined));
    const onAbort = () => fail(signal.reason);
    const removeListeners = () => {
      socket.off('close', onClose);
      signal.removeEventListener('abort', onAbort);
    };
    // Never removed: an error while nobody else listens must not crash the process.
    socket.on('error', onError);
    socket.once('close', onClose);
    socket.once(event, () => {
      removeListeners();
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Asks the proxy for the address, never for the name, so that the checked address is the one that is connected to.
 */
async function openByProxy(proxy: URL, address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const proxyHost = proxy.hostname.replace(/^\[(.*)\]$/, '$1');
  const toProxy = connectTcp({ host: proxyHost, port: Number(proxy.port || 80), noDelay: true });
  const proxyFailure = (error: unknown) =>
    new OutboundFailure('connection_failed', `The egress proxy: ${connectionFailure(error).message}`);
  await waitForEvent(toProxy, 'connect', proxyFailure, signal);
  const authority = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  const status = await askProxy(toProxy, authority, proxyAuthorization(proxy), signal);
  if (status === 200) return toProxy;
  toProxy.destroy();
  throw new OutboundFailure('connection_failed', `The egress proxy returned ${status}`);
}

/** Sends `CONNECT` and returns the status. After 200 the socket belongs to the caller. */
function askProxy(
  socket: Socket,
  authority: string,
  authorization: Record<string, string>,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = httpRequest({
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...authorization },
      createConnection: () => socket,
      signal,
    });
    asking.on('connect', (answer, _socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve(answer.statusCode ?? 0);
    });
    asking.on('error', () => {
      socket.destroy();
      reject(new OutboundFailure('connection_failed', 'The egress proxy closed the connection'));
    });
    asking.end();
  });
}

function proxyAuthorization(proxy: URL): Record<string, string> {
  if (proxy.username === '') return {};
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
