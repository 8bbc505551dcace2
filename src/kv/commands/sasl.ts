// Authentication: SCRAM uses the stored verifiers; PLAIN derives the same verifier from the password.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { isTooLong, passwordBytesMax } from '#auth/identity-rules.ts';
import { withoutPort } from '#base/host-and-port.ts';
import { Status } from '#wire/status.ts';
import type { Environment } from '../dispatch/environment.ts';
import { beginReply } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import type { UserEntry } from '../served/directory.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { Client } from '../session/client.ts';
import {
  fakeVerifier,
  mechanismList,
  otherIdOf,
  readClientFirst,
  ScramExchange,
  type ScramHash,
  scramHashes,
  verifierOf,
} from '../session/scram.ts';

/** Enough for PLAIN with the longest password and two names of the longest kind. */
const challengeBytesMax = 2 * passwordBytesMax;
const nonceBytes = 24;
const noOtherUser = 'A user cannot act as another user';

/** SASL_LIST_MECHS. */
export function saslListMechanisms(request: Request): Outcome {
  const at = beginReply(request, 0, 0, mechanismList.length, 0, 0, 0);
  request.output.buffer.write(mechanismList, at, 'latin1');
  return Outcome.replied;
}

/** SASL_AUTH: resets an earlier authentication. */
export function saslAuth(request: Request): CommandResult {
  const { frame, session, connection } = request;
  if (session.isByCertificate)
    return request.refuse(Status.notSupported, 'The client is authenticated by its certificate');
  session.reset();
  connection.setAuthenticated(false);
  if (frame.end - frame.valueStart > challengeBytesMax) return Status.invalidArguments;
  const mechanism = frame.buffer.toString('latin1', frame.keyStart, frame.valueStart);
  if (mechanism === 'PLAIN') return authenticatePlainly(request);
  const hash = scramHashes.get(mechanism);
  if (hash === undefined) return request.refuse(Status.authError, 'Unknown mechanism');
  return beginScram(request, mechanism, hash);
}

/** SASL_STEP: the client's proof. */
export function saslStep(request: Request): CommandResult {
  const { frame, session, environment } = request;
  const { exchange } = session;
  session.exchange = null;
  const mechanism = frame.buffer.toString('latin1', frame.keyStart, frame.valueStart);
  if (!exchange || exchange.mechanism !== mechanism) {
    return request.refuse(Status.invalidArguments, 'No authentication with this mechanism was started');
  }
  const answer = exchange.finish(frame.buffer.toString('utf8', frame.valueStart, frame.end));
  const user = unchangedUser(environment, exchange.user, exchange.credentialId);
  if (answer === null || !user) return refuseLogin(request, exchange.user);
  if (!mayConnect(environment, user))
    return request.refuse(Status.rateLimitedConnections, tooManyConnections);
  logIn(request, user);
  return replyText(request, Status.success, answer);
}

function beginScram(request: Request, mechanism: string, hash: ScramHash): CommandResult {
  const { frame, environment, session } = request;
  const first = readClientFirst(frame.buffer.toString('utf8', frame.valueStart, frame.end));
  if (!first) return request.refuse(Status.invalidArguments, 'The first message is not well-formed');
  if (first.otherId !== null) return request.refuse(Status.authError, noOtherUser);
  const user = environment.directory.user(first.user)?.spec;
  const verifier = verifierOf(user, hash);
  const usedVerifier = verifier ?? fakeVerifierOf(environment, first.user, hash);
  const nonce = environment.random.bytes(nonceBytes).toString('base64');
  const credentialId = (verifier && user?.credentialId) ?? null;
  session.exchange = new ScramExchange(mechanism, first, nonce, usedVerifier, credentialId);
  return replyText(request, Status.authContinue, session.exchange.challenge);
}

const fakeVerifierOf = (environment: Environment, user: string, hash: ScramHash) =>
  fakeVerifier(environment.secret, user, hash, environment.directory.defaultIterations);

function replyText(request: Request, status: Status, text: string): Outcome {
  const { frame, output } = request;
  const at = output.reply(frame.opcode, frame.opaque, status, -1, 0, 0, Buffer.byteLength(text), 0, 0, 0);
  output.buffer.write(text, at, 'utf8');
  return Outcome.replied;
}

/** The user, or undefined if it was deleted or its password changed since the login began. */
function unchangedUser(
  { directory }: Environment,
  name: string,
  credentialId: string | null,
): UserEntry | undefined {
  const user = directory.user(name);
  return user?.spec.credentialId === credentialId ? user : undefined;
}

function logIn(request: Request, user: UserEntry): void {
  request.environment.traffic.logins++;
  request.session.authenticate(user, request.environment.directory);
  request.connection.setAuthenticated(true);
}

/** Delays the reply, longer after each failure of this address and user. Meanwhile other connections are served. */
function refuseLogin(request: Request, user: string): Outcome {
  const { environment, connection } = request;
  const heldReply = connection.holdReply(request, 'ordered');
  refuseLater(environment, connection.peer, user, heldReply);
  return Outcome.later;
}

function refuseLater(environment: Environment, peer: string, user: string, heldReply: HeldReply): void {
  const { log, throttle, directory } = environment;
  // An unknown user name may be a password in the wrong field, so it is not logged.
  const loggedUser = directory.user(user) === undefined ? null : user;
  log.warn('login.refused', { user: loggedUser, peer });
  environment.traffic.refusedLogins++;
  environment.loginRefused({ user: loggedUser, from: withoutPort(peer) });
  const refuse = () => heldReply.resolve(Status.authError);
  throttle.failed(withoutPort(peer), user).then(refuse, refuse);
}

/** `authorization NUL user NUL password`; some clients append another NUL. */
interface PlainLogin {
  readonly user: string;
  readonly password: string;
  /** The authorization identity if it differs from the user, else null. */
  readonly otherId: string | null;
}

function readPlain(request: Request): PlainLogin | null {
  const { buffer, valueStart, end } = request.frame;
  const parts = buffer.toString('utf8', valueStart, end).split('\0');
  if (parts.length === 4 && parts[3] === '') parts.pop();
  const [id = '', user, password] = parts;
  if (parts.length !== 3 || user === undefined || password === undefined) return null;
  if (isTooLong(user) || Buffer.byteLength(password) > passwordBytesMax) return null;
  return { user, password, otherId: otherIdOf(id, user) };
}

function authenticatePlainly(request: Request): CommandResult {
  const login = readPlain(request);
  if (!login) return request.refuse(Status.invalidArguments, 'The message is not well-formed');
  if (login.otherId !== null) return request.refuse(Status.authError, noOtherUser);
  const { environment, connection } = request;
  const user = environment.directory.user(login.user);
  const digest = digestOf(environment, user, login.password);
  if (user?.passwordDigest && timingSafeEqual(user.passwordDigest, digest)) {
    if (!mayConnect(environment, user))
      return request.refuse(Status.rateLimitedConnections, tooManyConnections);
    logIn(request, user);
    return Status.success;
  }
  const heldReply = connection.holdReply(request, 'ordered');
  if (user ? user.spec.isExternal : environment.directory.admitsUnknown) {
    finishExternalLogin(heldReply, connection, environment, user, login);
    return Outcome.later;
  }
  verifyInTurn(environment, connection, user, login).then(
    (isRight) => {
      if (!isRight) refuseLater(environment, connection.peer, login.user, heldReply);
      else finishPlainLogin(heldReply, connection, environment, user as UserEntry, digest);
    },
    () => heldReply.resolve(Status.temporaryFailure),
  );
  return Outcome.later;
}

/** Stores no password digest: the verifier of external users has its own cache with its own lifetime. */
function finishExternalLogin(
  heldReply: HeldReply,
  connection: Client,
  environment: Environment,
  before: UserEntry | undefined,
  login: PlainLogin,
): void {
  const { user: name, password } = login;
  environment.verifyExternal(name, password).then(
    async (isRight) => {
      const user = isRight ? verifiedUser(environment, name, before) : undefined;
      if (user) return completeLogin(heldReply, connection, environment, user);
      // Without an LDAP server the answer would come at once, and so show that the account exists.
      await verifyInTurn(environment, connection, undefined, login).catch(() => false);
      refuseLater(environment, connection.peer, name, heldReply);
    },
    () => heldReply.resolve(Status.temporaryFailure),
  );
}

/** The user after its password was verified. The verification can make an external user known. */
function verifiedUser(
  { directory }: Environment,
  name: string,
  before: UserEntry | undefined,
): UserEntry | undefined {
  const user = directory.user(name);
  const isSame = before ? user?.spec.credentialId === before.spec.credentialId : user?.spec.isExternal;
  return isSame ? user : undefined;
}

const tooManyConnections = 'The user has as many connections as allowed';

/** The connection that logs in is not authenticated yet, so it does not count. */
function mayConnect(environment: Environment, { spec }: UserEntry): boolean {
  if (spec.limits === undefined) return true;
  let count = 0;
  for (const { session } of environment.connections()) if (session.user?.spec.name === spec.name) count++;
  return count < spec.limits.connections;
}

function completeLogin(
  heldReply: HeldReply,
  connection: Client,
  environment: Environment,
  user: UserEntry,
): void {
  if (!mayConnect(environment, user)) {
    heldReply.resolve(Status.rateLimitedConnections);
    return;
  }
  environment.traffic.logins++;
  connection.session.authenticate(user, environment.directory);
  connection.setAuthenticated(true);
  heldReply.resolve(Status.success);
}

function finishPlainLogin(
  heldReply: HeldReply,
  connection: Client,
  environment: Environment,
  verified: UserEntry,
  digest: Buffer,
): void {
  const { name, credentialId } = verified.spec;
  const user = unchangedUser(environment, name, credentialId);
  if (!user) {
    refuseLater(environment, connection.peer, name, heldReply);
    return;
  }
  user.passwordDigest = digest;
  completeLogin(heldReply, connection, environment, user);
}

/** @throws AppError when too many logins wait for their turn */
function verifyInTurn(
  environment: Environment,
  connection: Client,
  user: UserEntry | undefined,
  login: PlainLogin,
): Promise<boolean> {
  const suspect = environment.throttle.isSuspect(withoutPort(connection.peer));
  return environment.hashingQueue.run(suspect, () => isRightPassword(environment, user, login));
}

/** Derives the key also for an unknown user, so that both cases take the same time. */
async function isRightPassword(
  environment: Environment,
  user: UserEntry | undefined,
  login: { user: string; password: string },
): Promise<boolean> {
  const verifier = verifierOf(user?.spec, 'sha256');
  const used = verifier ?? fakeVerifierOf(environment, login.user, 'sha256');
  const salt = Buffer.from(used.salt, 'base64');
  const options = { iterations: used.iterations, hash: 'sha256' } as const;
  const salted = await environment.kdf.pbkdf2(login.password, salt, options);
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const stored = Buffer.from(used.storedKey, 'base64');
  const candidate = createHash('sha256').update(clientKey).digest();
  const isRight = stored.length === candidate.length && timingSafeEqual(stored, candidate);
  return isRight && verifier !== undefined;
}

/** Digest of a verified password, keyed by a secret of this process. */
const digestOf = (environment: Environment, user: UserEntry | undefined, password: string): Buffer =>
  createHmac('sha256', environment.secret)
    .update(`${user?.spec.credentialId ?? ''}\0${password}`)
    .digest();
