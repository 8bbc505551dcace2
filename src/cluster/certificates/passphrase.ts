// Sources of the passphrase of an encrypted private key: the request, a script in the data folder's `scripts`, or
// an HTTP service. The passphrase is read once, when the key is loaded, and never stored.
import { fieldText } from '#contract/field-text.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';

export interface PassphraseSources {
  /** Runs a script of the scripts folder, named relative to it, and resolves with its output. Throws with the reason. */
  run(script: { path: string; args: readonly string[]; timeoutMs: number }): Promise<string>;
  /** Requests the passphrase from an HTTP service. Throws with the reason. */
  request(service: {
    url: string;
    headers: Readonly<Record<string, string>>;
    timeoutMs: number;
    verifyPeer: boolean;
    /** Only addresses of this family are connected to; undefined: of either. */
    family: AddressFamily | undefined;
  }): Promise<string>;
  /** The reason why a script cannot be run; null if it can. */
  scriptProblem(path: string): Promise<string | null>;
}

export type AddressFamily = (typeof addressFamilies)[number];

export interface Passphrase {
  /** Resolves with null if there is no passphrase. */
  text(): Promise<string | null>;
  /** The source, without its secrets. */
  readonly publicSource: Readonly<Record<string, unknown>>;
}

const hidden = '********';
const timeoutMsDefault = 5_000;
const timeoutMsMax = 60_000;
const name = 'privateKeyPassphrase';
const addressFamilies = ['inet', 'inet6'] as const;
const isAddressFamily = (value: unknown): value is AddressFamily =>
  addressFamilies.includes(value as AddressFamily);

const noPassphrase: Passphrase = { text: async () => null, publicSource: {} };

/** The body of a request to reload the node's certificate: nothing, or an object with the source of the key's passphrase. */
export async function readPassphrase(body: string, sources: PassphraseSources): Promise<Passphrase> {
  if (body.trim() === '') return noPassphrase;
  const request = new Fields(parsed(body), '');
  request.only([name]);
  const source = request.optional(name, isRecord, fieldText.unexpectedJson);
  if (source === undefined) return noPassphrase;
  const fields = new Fields(source, `${name}.`);
  const type = fields.required('type', isType, fieldText.oneOf(types));
  return readers[type](fields, sources);
}

const types = ['script', 'rest', 'plain'] as const;
type Type = (typeof types)[number];
const isType = (value: unknown): value is Type => types.includes(value as Type);

const readers: Record<Type, (fields: Fields, sources: PassphraseSources) => Promise<Passphrase>> = {
  script: fromScript,
  rest: fromService,
  plain: fromRequest,
};

async function fromRequest(fields: Fields): Promise<Passphrase> {
  fields.only(['type', 'password']);
  const password = fields.required('password', isText, 'Password must be a string');
  return { text: async () => password, publicSource: { type: 'plain', password: hidden } };
}

async function fromScript(fields: Fields, sources: PassphraseSources): Promise<Passphrase> {
  fields.only(['type', 'path', 'args', 'trim', 'timeout']);
  const path = fields.required('path', isText, fieldText.string);
  const args = fields.optional('args', isTexts, fieldText.strings) ?? [];
  const trim = fields.optional('trim', isBoolean, fieldText.oneOf([true, false])) ?? true;
  const timeoutMs = fields.timeout();
  const problem = await sources.scriptProblem(path);
  if (problem !== null) throw generalRefusals.invalidFields({ [`${name}.path`]: problem });
  const text = async () => {
    const printed = await orRefuse(sources.run({ path, args, timeoutMs }));
    return trim ? printed.trim() : printed;
  };
  return { text, publicSource: { type: 'script', path, args, trim, timeout: timeoutMs } };
}

async function fromService(fields: Fields, sources: PassphraseSources): Promise<Passphrase> {
  fields.only(['type', 'url', 'headers', 'timeout', 'httpsOpts', 'addressFamily']);
  const url = fields.required('url', isWebAddress, 'Invalid url');
  const headers = fields.optional('headers', isHeaders, 'Header values must be strings') ?? {};
  const https = new Fields(
    fields.optional('httpsOpts', isRecord, fieldText.unexpectedJson) ?? {},
    `${name}.httpsOpts.`,
  );
  https.only(['verifyPeer']);
  const verifyPeer = https.optional('verifyPeer', isBoolean, fieldText.oneOf([true, false])) ?? true;
  const family = fields.optional('addressFamily', isAddressFamily, fieldText.oneOf(addressFamilies));
  const timeoutMs = fields.timeout();
  return {
    text: () => orRefuse(sources.request({ url, headers, timeoutMs, verifyPeer, family })),
    publicSource: {
      type: 'rest',
      // Headers and addresses may contain secrets.
      url: withoutSecrets(url),
      timeout: timeoutMs,
      httpsOpts: { verifyPeer },
      ...(family && { addressFamily: family }),
    },
  };
}

async function orRefuse(answer: Promise<string>): Promise<string> {
  try {
    return await answer;
  } catch (error) {
    throw certificateRefusals.passphraseFailed({ reason: (error as Error).message });
  }
}

export function withoutSecrets(address: string): string {
  const url = new URL(address);
  return `${url.origin}${url.pathname}`;
}

function parsed(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (isRecord(value)) return value;
  } catch {
    throw generalRefusals.invalidJson();
  }
  throw generalRefusals.unexpectedJson();
}

class Fields {
  private readonly values: Readonly<Record<string, unknown>>;
  private readonly prefix: string;

  constructor(values: Readonly<Record<string, unknown>>, prefix: string) {
    this.values = values;
    this.prefix = prefix;
  }

  only(names: readonly string[]): void {
    const other = Object.keys(this.values).find((key) => !names.includes(key));
    if (other !== undefined) this.refuse(other, fieldText.unsupported);
  }

  optional<T>(field: string, is: (value: unknown) => value is T, problem: string): T | undefined {
    const value = Object.hasOwn(this.values, field) ? this.values[field] : undefined;
    if (value === undefined) return undefined;
    return is(value) ? value : this.refuse(field, problem);
  }

  required<T>(field: string, is: (value: unknown) => value is T, problem: string): T {
    return this.optional(field, is, problem) ?? this.refuse(field, fieldText.required);
  }

  timeout(): number {
    const isTimeout = (value: unknown): value is number =>
      Number.isInteger(value) && (value as number) >= 1 && (value as number) <= timeoutMsMax;
    return this.optional('timeout', isTimeout, fieldText.range(1, timeoutMsMax)) ?? timeoutMsDefault;
  }

  private refuse(field: string, problem: string): never {
    throw generalRefusals.invalidFields({ [`${this.prefix}${field}`]: problem });
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isHeaders = (value: unknown): value is Record<string, string> =>
  isRecord(value) && Object.values(value).every(isText);
const isWebAddress = (value: unknown): value is string =>
  isText(value) && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
