// Parses and checks the parameters of a request from its address, form or JSON body.
import { mapInSteps, type WorkSteps } from '#base/steps.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { memberCount, memberNames } from '#sqlpp/values/json-scan.ts';
import { RawJson } from '#sqlpp/values/value.ts';
import { largeFormValues, largeJsonValues, largeLengthMin, parsedArgument } from './large-bodies.ts';
import { type Parameter, parameters } from './parameters.ts';
import { emptyRequest, type QueryRequest } from './query-request.ts';
import { badValue, jsonValue, type SentValue } from './sent-value.ts';
import { parsedJson, plainValue, valueOfJson } from './value-of-json.ts';

export interface SentRequest {
  readonly method: string;
  /** The part after the question mark. */
  readonly search: string;
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
  readonly body: Buffer;
}

/** The most fields of an address or a form; further ones are ignored. */
const fieldsMax = 65_536;
/** Fields of a large body that are taken between two pauses. */
const fieldsOfStep = 512;

/** Whether the body takes several milliseconds to read. */
export const isLargeBody = ({ body }: SentRequest): boolean => body.length >= largeLengthMin;

/** @throws SqlError of the group 1000 */
export function readParameters(sent: SentRequest): QueryRequest {
  checkSent(sent);
  const values = isJson(sent) ? jsonValues(sent) : formValues(sent);
  const request = emptyRequestOf(sent);
  for (const value of values) readParameter(request, value);
  return checked(request, sent);
}

/** Reads the parameters of a request with a large body, in steps. @throws SqlError of the group 1000 */
export function* readLargeParameters(sent: SentRequest): WorkSteps<QueryRequest> {
  checkSent(sent);
  const isBodyRead = sent.method === 'POST' && (isJson(sent) || isForm(sent));
  if (!isBodyRead) return readParameters(sent);
  const values = isJson(sent)
    ? yield* largeJsonValues(sent.body)
    : [...fieldsOf(sent.search), ...(yield* largeFormValues(sent.body.toString(), fieldsMax))];
  const seen = new Set<string>();
  yield* mapInSteps(values, ({ name }) => refuseSeen(seen, name));
  const request = emptyRequestOf(sent);
  for (const [at, value] of values.entries()) {
    if (at % fieldsOfStep === fieldsOfStep - 1) yield;
    readParameter(request, yield* parsedArgument(value));
  }
  return checked(request, sent);
}

function checkSent(sent: SentRequest): void {
  if (sent.method !== 'GET' && sent.method !== 'POST') throw sqlError(1010, sent.method);
  checkAccept(sent.accept);
  checkContent(sent);
}

function emptyRequestOf(sent: SentRequest): QueryRequest {
  const request = emptyRequest();
  request.isReadonly = sent.method === 'GET';
  return request;
}

function checked(request: QueryRequest, sent: SentRequest): QueryRequest {
  if (sent.method === 'GET' && !request.isReadonly)
    throw sqlError(1000, 'readonly=false cannot be used with HTTP GET method.');
  checkCombinations(request);
  return request;
}

const isJson = ({ contentType }: SentRequest): boolean =>
  contentType === 'application/json' || (contentType ?? '').toLowerCase().startsWith('application/json');

/** A body of no declared type is a form. */
const isForm = ({ contentType }: SentRequest): boolean =>
  (contentType || 'application/x-www-form-urlencoded')
    .toLowerCase()
    .startsWith('application/x-www-form-urlencoded');

function checkContent(sent: SentRequest): void {
  const isRead = sent.method === 'POST' && sent.body.length > 0;
  if (!isRead || isJson(sent) || isForm(sent)) return;
  const { contentType = '' } = sent;
  throw sqlError(
    1120,
    `${contentType}; a body must be application/json or application/x-www-form-urlencoded`,
  );
}

/** The answer is always JSON, so an Accept header must include it. */
function checkAccept(accept: string | undefined): void {
  if (accept === undefined || accept === '*/*' || accept.startsWith('application/json')) return;
  if (/(^|,)\s*(\*\/\*|application\/(json|\*))/.test(accept)) return;
  throw sqlError(1120, accept);
}

const byName: ReadonlyMap<string, Parameter> = new Map(Object.entries(parameters));

function readParameter(request: QueryRequest, sent: SentValue): void {
  const exact = byName.get(sent.name);
  if (exact !== undefined) {
    exact.read(request, sent);
    return;
  }
  const name = sent.name.trim();
  if (name === '') return;
  if (name[0] === '$' || name[0] === '@') {
    takeNamed(request, name.slice(1), sent);
    return;
  }
  const lowerCase = name.toLowerCase();
  const parameter = byName.get(lowerCase);
  if (parameter === undefined) throw sqlError(1065, lowerCase);
  parameter.read(request, { ...sent, name: lowerCase });
}

function takeNamed(request: QueryRequest, name: string, sent: SentValue): void {
  if (request.named.has(name)) throw sqlError(1060, sent.name);
  if (!sent.isText) {
    request.named.set(name, sent.value as never);
    return;
  }
  request.named.set(
    name,
    jsonValue(sent.name, () => valueOfJson(sent.value as string)),
  );
}

function jsonValues({ method, body }: SentRequest): SentValue[] {
  const text = method === 'POST' ? body.toString() : '{}';
  let json: unknown;
  try {
    json = parsedJson(text);
  } catch (error) {
    throw badValue('JSON request body', (error as Error).message);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw badValue('JSON request body', 'it must be an object of parameters');
  const members = json as Readonly<Record<string, unknown>>;
  const names = Object.keys(members);
  if (method === 'POST') refuseRepeatedMembers(body, names);
  return names.map((name) => {
    const value = jsonValue(name, () => plainValue(members[name]));
    return { name: name.toWellFormed(), value, isText: false };
  });
}

/** JSON.parse keeps only the last of repeated members: then the text has more names than the object. */
function refuseRepeatedMembers(body: Buffer, names: readonly string[]): void {
  const sent = new RawJson(body, 0, body.length);
  const isOnce = memberCount(sent) === names.length;
  // Different names may still mean the same parameter: parameters are compared without case and blanks.
  if (!isOnce || !names.every((name) => byName.has(name) || argumentName.test(name)))
    refuseRepeated(isOnce ? names : memberNames(sent));
}

const argumentName = /^[$@]\w+$/;

function formValues(sent: SentRequest): SentValue[] {
  const text = sent.method === 'POST' && isForm(sent) ? sent.body.toString() : '';
  const values = [...fieldsOf(sent.search), ...fieldsOf(text)];
  refuseRepeated(values.map(({ name }) => name));
  return values;
}

const fieldsOf = (text: string): SentValue[] =>
  [...new URLSearchParams(text)].slice(0, fieldsMax).map(([name, value]) => ({ name, value, isText: true }));

function refuseRepeated(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) refuseSeen(seen, name);
}

function refuseSeen(seen: Set<string>, name: string): void {
  const plain = name.trim();
  const parameterName = plain[0] === '$' || plain[0] === '@' ? plain : plain.toLowerCase();
  if (seen.has(parameterName)) throw sqlError(1060, parameterName);
  seen.add(parameterName);
}

/** Checks that concern several parameters. */
function checkCombinations(request: QueryRequest): void {
  const { statement, prepared, scanVector, scanVectors, consistency } = request;
  const hasStatement = statement !== null && statement !== '';
  if (!hasStatement && !prepared) throw sqlError(1050, 'statement or prepared');
  if (hasStatement && prepared) throw sqlError(1060, 'statement and prepared');
  if (scanVector !== null && scanVectors !== null) throw sqlError(1060, 'scan_vector and scan_vectors');
  if (consistency === 'at_plus' && scanVector === null && scanVectors === null)
    throw sqlError(1050, 'scan_vector');
}
