import WebSocket from 'ws';

const CLOSE_LIMIT_MS = 500;

/** A WebSocket that sends the `token` of its address in a header: proxies log addresses. */
export class ChannelSocket extends WebSocket {
  constructor(address: string) {
    const url = new URL(address);
    const token = url.searchParams.get('token');
    url.searchParams.delete('token');
    super(url, {
      headers: { authorization: `Bearer ${token}` },
      perMessageDeflate: false,
    });
  }

  /** A server that does not answer the close frame must not keep the command running. */
  override close(code?: number): void {
    super.close(code);
    setTimeout(() => this.terminate(), CLOSE_LIMIT_MS).unref();
  }
}
