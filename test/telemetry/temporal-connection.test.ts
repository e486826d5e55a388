import assert from 'node:assert/strict';
import { loadTemporalConfig } from '../../src/temporal/connection.ts';

describe('the Temporal connection', () => {
  it('uses the standard variables of Temporal', () => {
    const { connectionOptions, namespace } = loadTemporalConfig({
      TEMPORAL_ADDRESS: 'temporal.example.com:7233',
      TEMPORAL_NAMESPACE: 'baton',
      TEMPORAL_API_KEY: 'key',
    });
    assert.equal(connectionOptions.address, 'temporal.example.com:7233');
    assert.equal(namespace, 'baton');
    assert.equal(connectionOptions.apiKey, 'key');
    assert.ok(connectionOptions.tls, 'an API key requires TLS');
  });

  it('ignores empty variables', () => {
    const { connectionOptions, namespace } = loadTemporalConfig({
      TEMPORAL_ADDRESS: '127.0.0.1:7233',
      TEMPORAL_NAMESPACE: '',
      TEMPORAL_API_KEY: '',
      TEMPORAL_TLS_CLIENT_CERT_PATH: '',
    });
    assert.deepEqual([connectionOptions.address, namespace], ['127.0.0.1:7233', 'default']);
    assert.deepEqual([connectionOptions.apiKey, connectionOptions.tls], [undefined, undefined]);
  });
});
