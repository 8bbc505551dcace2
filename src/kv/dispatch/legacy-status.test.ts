import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { Session } from '../session/session.ts';
import { legacyStatus } from './legacy-status.ts';

test('a client without extended errors loses its connection instead of a status that it cannot know', () => {
  const closing = [
    Status.authStale,
    Status.noAccess,
    Status.noBucket,
    Status.streamIdInvalid,
    Status.durabilityInvalidLevel,
    Status.durabilityImpossible,
    Status.syncWriteAmbiguous,
    Status.rangeScanCancelled,
    Status.vbUuidNotEqual,
  ];
  for (const status of closing) assert.equal(legacyStatus(undefined, new Session(), status), null);
});
