// Users with chosen privileges, and the answers to their commands according to the published table of privileges.
import assert from 'node:assert/strict';
import { compileGrants } from '#auth/grants.ts';
import { type Grants, Privilege } from '#auth/privileges.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, aUser, startService } from './data-service.ts';
import { Opcode } from './opcodes.ts';
import {
  type Held,
  type Need,
  type Place,
  type PrivilegeWord,
  places,
  type Row,
  roleRows,
} from './privilege-table.ts';
import type { Random } from './random.ts';

/** Privileges of the user in each place; `bucket` are those in the whole bucket. */
export interface Case {
  name: string;
  grants: Grants;
  held: Held;
}

type Answer = 'done' | 'refused' | 'hidden';
/** By status; any other one means that the command was done. */
const answers: Record<number, Answer> = {
  [Status.noAccess]: 'refused',
  [Status.unknownCollection]: 'hidden',
  [Status.unknownScope]: 'hidden',
};

/** Privileges that make a collection visible: those on documents, change streams and statistics. */
const showing = new Set<PrivilegeWord>([
  'read',
  'insert',
  'upsert',
  'delete',
  'rangeScan',
  'metaWrite',
  'dcpStream',
  'simpleStats',
]);

export function expected(row: Row, place: Place, { held }: Case): Answer {
  if (row.where === 'bucket') return meets(row.need, held.bucket) ? 'done' : 'refused';
  const anywhere = [...new Set([...held.bucket, ...places.flatMap((other) => held[other])])];
  if (row.where === 'anywhere') return meets(row.need, anywhere) ? 'done' : 'refused';
  // Without a key the privilege is checked before the collection.
  if (row.where === 'named' && !meets(row.need, anywhere)) return 'refused';
  const atPlace = inSystem(place, held[place]);
  if (!atPlace.some((word) => showing.has(word))) return 'hidden';
  return meets(row.need, atPlace) ? 'done' : 'refused';
}

const meets = ({ all = [], any = [] }: Need, held: readonly PrivilegeWord[]): boolean =>
  all.every((word) => held.includes(word)) && (any.length === 0 || any.some((word) => held.includes(word)));

/** In a system collection, reading and writing each require another privilege. */
function inSystem(place: Place, held: readonly PrivilegeWord[]): readonly PrivilegeWord[] {
  if (place !== 'system') return held;
  const reading: PrivilegeWord[] = ['read', 'rangeScan', 'dcpStream'];
  const writing: PrivilegeWord[] = ['insert', 'upsert', 'delete', 'metaWrite'];
  return held.filter(
    (word) =>
      (held.includes('systemCollectionLookup') || !reading.includes(word)) &&
      (held.includes('systemCollectionMutation') || !writing.includes(word)),
  );
}

const ids: Record<Place, number> = { orders: 8, carts: 9, system: 10, default: 0 };
const scopeIds: Record<Place, string> = { orders: '8', carts: '8', system: '9', default: '0' };
const bitsOf = (words: readonly PrivilegeWord[]): number =>
  words.reduce((bits, word) => bits | Privilege[word], 0);
const nothing: readonly PrivilegeWord[] = [];

/** A user with the privileges in one collection, and the bucket-wide ones in the bucket. */
function inOneCollection(name: string, place: Place, words: readonly PrivilegeWord[]): Case {
  const inBucket = words.filter((word) => word === 'dcpProducer');
  const collections = { [ids[place].toString(16)]: bitsOf(words) };
  const scopes = { [scopeIds[place]]: { privileges: 0, collections } };
  const held = Object.fromEntries(places.map((other) => [other, other === place ? words : inBucket]));
  return {
    name,
    grants: { node: 0, buckets: { b: { privileges: bitsOf(inBucket), scopes } } },
    held: { ...(held as Record<Place, readonly PrivilegeWord[]>), bucket: inBucket },
  };
}

function inTheBucket(name: string, words: readonly PrivilegeWord[]): Case {
  const held = Object.fromEntries(places.map((place) => [place, words])) as Record<Place, typeof words>;
  return {
    name,
    grants: { node: 0, buckets: { b: { privileges: bitsOf(words) } } },
    held: { ...held, bucket: words },
  };
}

const everything = Object.keys(Privilege).filter(
  (word) => word !== 'administrator' && word !== 'systemSettings' && word !== 'stats',
) as PrivilegeWord[];

export function* casesOf(all: readonly Row[]): Generator<Case> {
  const sets = new Map<string, readonly PrivilegeWord[]>();
  for (const { need } of all) {
    const { all: needed = [], any = [] } = need;
    if (needed.length + any.length === 0) continue;
    for (const privilege of any.length > 0 ? any : [null]) {
      const words = privilege ? [...needed, privilege] : needed;
      sets.set(`only ${words.join('+')}`, words);
    }
    for (const lacking of [...needed.map((word) => [word]), any]) {
      const name = `all but ${lacking.join('+')}`;
      sets.set(
        name,
        everything.filter((word) => !lacking.includes(word)),
      );
    }
  }
  for (const [name, words] of sets) {
    yield inOneCollection(`${name} in orders`, 'orders', words);
    yield inOneCollection(`${name} in the system collection`, 'system', words);
    yield inTheBucket(`${name} in the bucket`, words);
  }
}

const target = { uuid: 'u', scopes: aBucket('b').manifest.scopes };

export const roleCases: Case[] = roleRows.map(({ roles, held }) => ({
  name: roles.map(({ role, names }) => `${role}[${names.join(':')}]`).join(),
  grants: compileGrants(roles, () => target),
  held: {
    orders: held.orders ?? held.bucket ?? nothing,
    carts: held.carts ?? held.bucket ?? nothing,
    system: held.system ?? held.bucket ?? nothing,
    default: held.default ?? held.bucket ?? nothing,
    bucket: held.bucket ?? nothing,
  },
}));

export async function withService(cases: readonly Case[]) {
  const users = cases.map(({ grants }, index) => aUser(`user${index}`, 'password', grants));
  const service = await startService(aDesired({ users: [...users, aUser('admin', 'password')] }));
  const admin = await service.ready();
  // A document in each collection, so that the first permitted commands find one.
  for (const place of places) {
    const key = Buffer.concat([Buffer.from([ids[place]]), Buffer.from('k')]);
    await admin.ask({ opcode: Opcode.set, key, extras: Buffer.alloc(8), value: Buffer.from('{"n":1}') });
  }
  return service;
}

type Service = Awaited<ReturnType<typeof startService>>;

/** The replies to all rows in all places for one user; all requests are pipelined. */
export async function askEachRow(
  service: Service,
  index: number,
  requests: readonly (readonly [Row, Place])[],
) {
  const client = await service.ready({ user: `user${index}` });
  const seen = new Map<number, number>();
  const last = requests.length;
  client.send(
    ...requests.map(([row, place], opaque) => ({ ...row.request(ids[place], scopeIds[place]), opaque })),
    { opcode: Opcode.noop, opaque: last },
  );
  for (;;) {
    const reply = await client.next();
    assert.ok(reply, 'the connection was closed');
    if (reply.magic === 0x81 && !seen.has(reply.opaque)) seen.set(reply.opaque, reply.status);
    if (reply.magic === 0x81 && reply.opcode === Opcode.noop && reply.opaque === last) break;
  }
  client.close();
  // Quiet commands do not reply to success.
  return requests.map((_, opaque) => answers[seen.get(opaque) ?? 0] ?? 'done');
}

export function placesOf({ where }: Row): readonly Place[] {
  return where === 'bucket' || where === 'anywhere' ? ['orders'] : places;
}

/** A user with any privileges in the bucket, in a scope and in collections. */
export function aRandomCase(random: Random, at: number): Case {
  const some = (share: number): PrivilegeWord[] => everything.filter(() => random(share) === 0);
  const inBucket = some(8);
  // dcpProducer is held in a whole bucket only.
  const inScope = some(6).filter((word) => word !== 'dcpProducer');
  const inOrders = some(2).filter((word) => word !== 'dcpProducer');
  const inSystem = some(2).filter((word) => word !== 'dcpProducer');
  const union = (...sets: PrivilegeWord[][]): PrivilegeWord[] => [...new Set(sets.flat())];
  const scopes = {
    [scopeIds.orders]: {
      privileges: bitsOf(inScope),
      collections: { [ids.orders.toString(16)]: bitsOf(inOrders) },
    },
    [scopeIds.system]: { privileges: 0, collections: { [ids.system.toString(16)]: bitsOf(inSystem) } },
  };
  return {
    name: `random user ${at}: bucket ${inBucket}; scope ${inScope}; orders ${inOrders}; system ${inSystem}`,
    grants: { node: 0, buckets: { b: { privileges: bitsOf(inBucket), scopes } } },
    held: {
      orders: union(inBucket, inScope, inOrders),
      carts: union(inBucket, inScope),
      system: union(inBucket, inSystem),
      default: inBucket,
      bucket: inBucket,
    },
  };
}
