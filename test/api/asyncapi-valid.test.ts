import assert from 'node:assert/strict';
import specs from '@asyncapi/specs';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { channelDocument } from '../../src/api/docs/asyncapi.ts';

describe('the AsyncAPI document of the live channel', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  // The schema of the specification contains the meta-schema of draft 7, which the validator already has.
  const schema = structuredClone(specs.schemasWithoutId['3.0.0']) as { definitions: Record<string, unknown> };
  delete schema.definitions['http://json-schema.org/draft-07/schema'];
  const validate = ajv.compile(schema);

  it('is valid according to the schema of the specification', () => {
    const document = structuredClone(channelDocument('https://baton.example.com'));
    assert.ok(validate(document), JSON.stringify(validate.errors?.slice(0, 3)));
    assert.ok(!validate({ ...document, info: {} }), 'an invalid document is rejected');
  });
});
