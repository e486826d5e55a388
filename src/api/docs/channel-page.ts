import type { ChannelDocument } from './asyncapi.ts';
import type { DescribedMessage, JsonObject } from './asyncapi-messages.ts';
import { html, prose, type Html } from './html.ts';

/** Returns the document of the live channel as an HTML page without scripts, inline styles or external resources. */
export function channelPage(document: ChannelDocument): string {
  const { info, servers, channels, operations, components } = document;
  const { messages, schemas } = components;
  const named = (names: readonly string[]) =>
    names.flatMap((name) => (messages as Record<string, DescribedMessage>)[name] ?? []);
  const messagesOf = (action: string) =>
    Object.values(operations)
      .filter((operation) => operation['action'] === action)
      .flatMap((operation) => namesOf(operation['messages']));
  const fromClient = messagesOf('receive');
  const all = Object.keys(channels.connection.messages);
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${info.title}</title>
    <link rel="stylesheet" href="/docs/channel.css">
    <link rel="icon" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <header>
      <h1>${info.title}</h1>
      <p>${prose(info.description)}</p>
      <p><a href="/asyncapi.json">AsyncAPI document</a> · <a href="/docs">HTTP API</a></p>
    </header>
    <nav aria-label="On this page">
      <a href="#connect">Connect</a> <a href="#said">Client messages</a> <a href="#heard">Server messages</a>
      <a href="#rooms">Rooms</a> <a href="#codes">Codes</a> <a href="#limits">Limits</a> <a href="#shapes">Schemas</a>
    </nav>
    <main>
      <section id="connect"><h2>Connect</h2>${Object.values(servers).map(serverOf)}
        <p>${prose('The token is a JWT from `POST /api/v1/tokens`. Send it in the query parameter `token` or as `Authorization: Bearer`.')}</p>
      </section>
      <section id="said"><h2>Client messages</h2>${named(fromClient).map(messageOf)}</section>
      <section id="heard"><h2>Server messages</h2>${named(all.filter((name) => !fromClient.includes(name))).map(messageOf)}</section>
      <section id="rooms"><h2>Rooms</h2>${[channels.workflow, channels.webhook].map((room) => roomOf(room, named(Object.keys(room.messages))))}</section>
      <section id="codes"><h2>Codes</h2>${tableOf('Code', 'Description', document['x-codes'], true)}</section>
      <section id="limits"><h2>Limits</h2>${tableOf('Limit', 'Value', document['x-limits'], false)}</section>
      <section id="shapes"><h2>Schemas</h2>${Object.entries(schemas).map(([name, schema]) => schemaOf(name, schema))}</section>
    </main>
  </body>
</html>
`.html;
}

/** Returns the names of referenced messages. */
function namesOf(references: unknown): string[] {
  return (references as { $ref: string }[]).map(({ $ref }) => $ref.slice($ref.lastIndexOf('/') + 1));
}

function serverOf(server: ChannelDocument['servers'][keyof ChannelDocument['servers']]): Html {
  const { protocol, host, pathname, description } = server;
  const scheme = protocol === 'socket.io' ? '' : `${protocol}://`;
  return html`<p><code>${scheme}${host}${pathname}</code><br>${prose(description)}</p>`;
}

function roomOf(room: ChannelDocument['channels']['workflow' | 'webhook'], events: DescribedMessage[]): Html {
  return html`<article class="room"><h3>${room.title}: <code>${room.address}</code></h3>
    <p>${prose(room.description)}</p>${events.map(messageOf)}</article>`;
}

function messageOf({ name, summary, payload, examples, 'x-socket-io': socketIo }: DescribedMessage): Html {
  return html`<article id="message-${name}">
    <h3><code>${name}</code></h3>
    <p>${prose(summary)}.</p>
    ${fieldsOf(payload)}
    <p class="note">Socket.IO: ${prose(socketIo)}.</p>
    ${examples.map(({ payload: example }) => exampleOf(example))}
  </article>`;
}

function schemaOf(name: string, schema: JsonObject): Html {
  const description = schema['description'];
  return html`<article id="shape-${name}">
    <h3>${name}</h3>
    ${typeof description === 'string' && html`<p>${prose(description)}.</p>`}
    ${fieldsOf(schema)}
  </article>`;
}

/** Renders the fields of an object, or of each alternative. */
function fieldsOf(schema: JsonObject): Html {
  const alternatives = (schema['anyOf'] ?? schema['oneOf']) as JsonObject[] | undefined;
  if (alternatives) {
    return html`${alternatives.map((one, index) => html`${index > 0 && html`<p>or</p>`}${fieldsOf(one)}`)}`;
  }
  const rows = rowsOf(schema, '');
  if (rows.length === 0) return html`<p>${typeOf(schema)}</p>`;
  return html`<div class="wide"><table>
    <thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead>
    <tbody>${rows}</tbody>
  </table></div>`;
}

/** Renders a row for each field, and for the fields of nested unnamed objects. */
function rowsOf(schema: JsonObject, prefix: string): Html[] {
  const required = new Set((schema['required'] ?? []) as string[]);
  const fields = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>);
  return fields.flatMap(([name, field]) => [
    rowOf(`${prefix}${name}`, field, required.has(name)),
    ...rowsOf(field, `${prefix}${name}.`),
  ]);
}

function rowOf(name: string, member: JsonObject, isRequired: boolean): Html {
  const description = member['description'];
  return html`<tr>
    <th scope="row"><code>${name}</code>${!isRequired && html` <small>optional</small>`}</th>
    <td>${typeOf(member)}</td>
    <td>${typeof description === 'string' && prose(description)}</td>
  </tr>`;
}

/** Renders the type of a schema, with a link to a named schema. */
function typeOf(schema: JsonObject): Html {
  const { $ref, const: only, enum: words, type, format, items } = schema;
  const several = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']) as JsonObject[] | undefined;
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1);
    return html`<a href="#shape-${name}">${name}</a>`;
  }
  if (several) return joined(several.map(typeOf), ' or ');
  if (only !== undefined) return html`<code>${JSON.stringify(only)}</code>`;
  if (Array.isArray(words))
    return joined(
      words.map((word) => html`<code>${JSON.stringify(word)}</code>`),
      ' ',
    );
  if (type === 'array') return html`array of ${typeOf((items ?? {}) as JsonObject)}`;
  return html`${typeof type === 'string' ? type : 'any'}${typeof format === 'string' && ` (${format})`}`;
}

function joined(pieces: readonly Html[], between: string): Html {
  return html`${pieces.map((piece, index) => html`${index > 0 && between}${piece}`)}`;
}

function exampleOf(example: unknown): Html {
  return html`<pre tabindex="0"><code>${JSON.stringify(example, null, 2)}</code></pre>`;
}

function tableOf(left: string, right: string, rows: Readonly<Record<string, string>>, isCode: boolean): Html {
  const lines = Object.entries(rows).map(
    ([name, value]) =>
      html`<tr><th scope="row">${isCode ? html`<code>${name}</code>` : prose(name)}</th><td>${prose(value)}</td></tr>`,
  );
  return html`<div class="wide"><table>
    <thead><tr><th scope="col">${left}</th><th scope="col">${right}</th></tr></thead>
    <tbody>${lines}</tbody></table></div>`;
}

/** The style of the page. A separate file, because the policy forbids inline styles. */
export const CHANNEL_STYLE = `
:root { color-scheme: light dark; --line: #d5d9de; --soft: #f4f6f8; --text: #1b1f24; --link: #0a58ca; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a414a; --soft: #1d2229; --text: #e3e7ec; --link: #7ab3ff; --page: #13171c; }
}
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); }
a { color: var(--link); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .5rem 0; border-block: 1px solid var(--line); }
h2 { margin-top: 2.5rem; }
h3 { margin-bottom: .25rem; }
article { padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
.room { padding-left: 1rem; border-left: 3px solid var(--line); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 400; white-space: nowrap; }
#limits tbody th { white-space: normal; }
code, pre { font-family: ui-monospace, SFMono-Regular, Consolas, monospace; font-size: .875em; }
pre code { font-size: 1em; }
pre { padding: .75rem; overflow-x: auto; background: var(--soft); border-radius: .3rem; }
.note, small { color: inherit; opacity: .8; }
`;
