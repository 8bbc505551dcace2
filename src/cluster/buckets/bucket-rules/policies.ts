// How a bucket treats its documents: eviction, threads, compression, expiry, conflicts, flush.
import { integerOf } from '#base/decimal.ts';
import type { CompressionMode, EvictionPolicy } from '../../config/cluster-state.ts';
import { choice, type RuleInput } from './rule-input.ts';

const maxTtlSecondsMax = 2_147_483_648;
const driftMsMin = 100;
/** Larger numbers are not exact. */
const driftMsMax = Number.MAX_SAFE_INTEGER;

export function evictionPolicy(input: RuleInput): EvictionPolicy {
  const present = input.present?.evictionPolicy;
  switch (input.type) {
    case 'native': {
      const typeName = input.vocabulary === 'branded' ? 'couchbase' : 'native';
      const text = `Eviction policy must be either 'valueOnly' or 'fullEviction' for ${typeName} buckets`;
      const allowed = ['valueOnly', 'fullEviction'] as const;
      return choice(input, 'evictionPolicy', allowed, present ?? 'valueOnly', text);
    }
    case 'ephemeral':
      return choice(
        input,
        'evictionPolicy',
        ['noEviction', 'nruEviction'] as const,
        present ?? 'noEviction',
        "Eviction policy must be either 'noEviction' or 'nruEviction' for ephemeral buckets",
      );
    case 'cache': {
      const typeName = input.vocabulary === 'branded' ? 'memcached' : 'cache';
      const text = `Eviction policy cannot be set for ${typeName} buckets`;
      return choice(input, 'evictionPolicy', [], 'nruEviction', text);
    }
  }
}

/** 8 is high priority; every other number from 0 is accepted and means low. */
export function threadsNumber(input: RuleInput): 3 | 8 {
  const sent = input.form['threadsNumber'];
  if (sent === undefined) return input.present?.threadsNumber ?? 3;
  const number = integerOf(sent);
  if (number === null || number < 0) {
    const text = 'The number of threads must be an integer between 2 and 8, inclusive';
    input.problems.add('threadsNumber', text);
  }
  return number === 8 ? 8 : 3;
}

export function compressionMode(input: RuleInput): CompressionMode {
  if (input.edition === 'community') {
    refuseInCommunity(input, 'compressionMode', 'Compression mode is supported in enterprise edition only');
    return 'off';
  }
  const text = "compressionMode can be set to 'off', 'passive' or 'active'";
  const before = input.present?.compressionMode ?? (input.type === 'cache' ? 'off' : 'passive');
  return choice(input, 'compressionMode', ['off', 'passive', 'active'] as const, before, text);
}

export function maxTtlSeconds(input: RuleInput): number {
  if (input.edition === 'community') {
    refuseInCommunity(input, 'maxTTL', 'Max TTL is supported in enterprise edition only');
    return 0;
  }
  const before = input.present?.maxTtlSeconds ?? 0;
  const sent = input.form['maxTTL'];
  if (sent === undefined) return before;
  const seconds = integerOf(sent);
  if (seconds !== null && seconds >= 0 && seconds <= maxTtlSecondsMax) return seconds;
  input.problems.add('maxTTL', `Max TTL must be an integer between 0 and ${maxTtlSecondsMax}`);
  return before;
}

function refuseInCommunity(input: RuleInput, name: string, text: string): void {
  if (input.form[name] !== undefined) input.problems.add(name, text);
}

/** Both buckets of a replication must always use the same type, so it is fixed at creation. */
export function conflictResolutionType(input: RuleInput): 'seqno' | 'lww' {
  const name = 'conflictResolutionType';
  if (input.present) {
    if (input.form[name] !== undefined) {
      input.problems.add(name, 'Conflict resolution type not allowed in update bucket');
    }
    return input.present.conflictResolutionType;
  }
  const text = "Conflict resolution type must be 'seqno' or 'lww' or 'custom'";
  if (input.form[name] === 'custom') {
    input.problems.add(
      name,
      "Conflict resolution type 'custom' is supported only with developer preview enabled",
    );
    return 'seqno';
  }
  const chosen = choice(input, name, ['seqno', 'lww'] as const, 'seqno', text);
  if (chosen === 'lww' && input.edition === 'community') {
    input.problems.add(name, "Conflict resolution type 'lww' is supported only in enterprise edition");
  }
  return chosen;
}

/** Clock drift that causes a warning; only for buckets with timestamp conflict resolution. */
export function driftThresholdMs(
  input: RuleInput,
  name: 'driftAheadThresholdMs' | 'driftBehindThresholdMs',
  applies: boolean,
): number {
  const before = input.present?.[name] ?? 5000;
  const sent = input.form[name];
  if (sent === undefined || !applies) return before;
  const threshold = `The drift ${name === 'driftAheadThresholdMs' ? 'ahead' : 'behind'} threshold`;
  const value = integerOf(sent);
  if (value === null)
    input.problems.add(name, `${threshold} must be an integer not less than ${driftMsMin}ms`);
  else if (value < driftMsMin) input.problems.add(name, `${threshold} can't be less than ${driftMsMin}ms`);
  else if (value > driftMsMax) input.problems.add(name, `${threshold} can't be more than ${driftMsMax}ms`);
  return value ?? before;
}

export function flushEnabled(input: RuleInput): boolean {
  const before = input.present?.flushEnabled ? '1' : '0';
  return (
    choice(input, 'flushEnabled', ['0', '1'] as const, before, 'flushEnabled can only be 1 or 0') === '1'
  );
}
