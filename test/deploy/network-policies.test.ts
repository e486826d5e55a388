import assert from 'node:assert/strict';
import { BlockList, isIPv4 } from 'node:net';
import { SPECIAL_IPV4, SPECIAL_IPV6 } from '../../src/outbound/special-addresses.ts';
import { manifestsOf, RENDERED, selects, type Manifest } from './manifests.ts';

const base = manifestsOf(RENDERED);
const policies = base.filter(({ kind }) => kind === 'NetworkPolicy');
const podsOf = (kind: string) => base.filter((one) => one.kind === kind).map(({ spec }) => spec.template);
const pods = [...podsOf('Deployment'), ...podsOf('Job')];

const OUTSIDE = '93.184.215.14';
const OUTSIDE_6 = '2a00:1450::5';
const METADATA = '169.254.169.254';

/** The other end of a connection: an address outside of the cluster, or any pod of a namespace. */
type Peer = string | { namespace: string };

/** Returns whether the policies allow a connection of a process, as Kubernetes defines it: one matching rule is enough. */
function allows(
  process: string,
  direction: 'ingress' | 'egress',
  peer: Peer,
  port: number | string,
): boolean {
  const { labels } = podOf(process).metadata;
  const mine = policies.filter(({ spec }) => isSelected(spec.podSelector, labels));
  const type = direction === 'ingress' ? 'Ingress' : 'Egress';
  const limiting = mine.filter(({ spec }) => spec.policyTypes.includes(type));
  assert.ok(limiting.length > 0, `nothing limits the ${direction} of ${process}`);
  return limiting.some(({ spec }) =>
    (spec[direction] ?? []).some(
      (rule: Manifest) =>
        (rule['ports'] === undefined || rule['ports'].some((one: { port: number }) => one.port === port)) &&
        rule[direction === 'ingress' ? 'from' : 'to'].some((one: Manifest) => isPeer(one, peer)),
    ),
  );
}

function podOf(process: string): Manifest {
  const found = pods.find(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === process);
  assert.ok(found, process);
  return found;
}

type Selector = {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
};

function isSelected({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>) {
  const hasLabels = Object.keys(matchLabels).length === 0 || selects(matchLabels, labels);
  return (
    hasLabels &&
    matchExpressions.every(({ key, operator, values }) => {
      assert.equal(operator, 'In');
      return values.includes(labels[key] ?? '');
    })
  );
}

function isPeer(rule: Manifest, peer: Peer): boolean {
  if (typeof peer !== 'string')
    return (
      rule['namespaceSelector'] !== undefined &&
      isSelected(rule['namespaceSelector'], { 'kubernetes.io/metadata.name': peer.namespace })
    );
  if (rule['ipBlock'] === undefined) return false;
  const { cidr, except = [] } = rule['ipBlock'];
  return contains(cidr, peer) && !except.some((range: string) => contains(range, peer));
}

function contains(range: string, address: string): boolean {
  const [start = '', bits] = range.split('/');
  if (isIPv4(start) !== isIPv4(address)) return false;
  const list = new BlockList();
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  list.addSubnet(start, Number(bits), family);
  return list.check(address, family);
}

describe('the network policies for Kubernetes', () => {
  const SENDING = ['api', 'task-worker', 'delivery-worker'];
  const SERVING = ['api', 'gateway'];
  const RUNNING = ['api', 'gateway', 'task-worker', 'delivery-worker'];
  const allowing = (...what: [direction: 'ingress' | 'egress', peer: Peer, port: number | string]) =>
    [...RUNNING, 'migrate'].filter((process) => allows(process, ...what));

  it('let callers in through the ingress controller only, and Prometheus to the metrics only', () => {
    assert.deepEqual(allowing('ingress', { namespace: 'traefik' }, 'http'), SERVING);
    assert.deepEqual(allowing('ingress', { namespace: 'traefik' }, 'metrics'), []);
    assert.deepEqual(allowing('ingress', { namespace: 'monitoring' }, 'metrics'), RUNNING);
    assert.deepEqual(allowing('ingress', { namespace: 'monitoring' }, 'http'), []);
    for (const port of ['http', 'metrics', 3000, 9464])
      for (const peer of [{ namespace: 'other' }, { namespace: 'baton' }, OUTSIDE, '10.1.2.3'])
        assert.deepEqual(allowing('ingress', peer, port), []);
  });

  it('let every process ask for names and the database, and all but the migration reach Temporal', () => {
    const all = [...RUNNING, 'migrate'];
    assert.deepEqual(allowing('egress', { namespace: 'kube-system' }, 53), all);
    for (const peer of [{ namespace: 'databases' }, '10.1.2.3', OUTSIDE, 'fd12::5'])
      assert.deepEqual(allowing('egress', peer, 5432), all, JSON.stringify(peer));
    for (const peer of [{ namespace: 'temporal' }, '10.1.2.3', OUTSIDE])
      assert.deepEqual(allowing('egress', peer, 7233).slice(0, 4), RUNNING);
    assert.equal(allows('migrate', 'egress', { namespace: 'temporal' }, 7233), false);
  });

  it('let the processes that send requests reach the internet, at any port', () => {
    for (const peer of [OUTSIDE, OUTSIDE_6])
      for (const port of [443, 80, 8443, 465]) assert.deepEqual(allowing('egress', peer, port), SENDING);
  });

  it('let no process reach private and special addresses, whatever the address guard allows', () => {
    for (const [range] of [...SPECIAL_IPV4, ...SPECIAL_IPV6]) {
      const [address = ''] = range.split('/');
      for (const port of [443, 80]) assert.deepEqual(allowing('egress', address, port), [], range);
    }
    for (const address of ['10.255.255.255', '172.31.0.1', '192.168.1.1', '2002:a00:1::1', '64:ff9b::a00:1'])
      assert.deepEqual(allowing('egress', address, 443), [], address);
    assert.deepEqual(allowing('egress', { namespace: 'other' }, 443), []);
    for (const port of [53, 80, 443, 5432, 7233])
      assert.deepEqual(allowing('egress', METADATA, port), [], `the metadata address at ${port}`);
  });
});
