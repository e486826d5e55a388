import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

/** Begins a POST with the headers and the first byte of the body. The returned function sends the rest, and returns the status. */
export function beginRequest(
  url: string,
  body: object,
  headers: Record<string, string>,
): () => Promise<number | undefined> {
  const text = JSON.stringify(body);
  const sent = request(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Content-Length': text.length, ...headers },
  });
  sent.write(text.slice(0, 1));
  return async () => {
    sent.end(text.slice(1));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
}
