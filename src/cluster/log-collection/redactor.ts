// Redaction of support bundles at the level `partial`: names of users, mail addresses, keys of documents and distinguished
// names become salted hashes, marked as `<ud>…</ud>`. Equal texts stay equal, so that events can be followed.
import { createHash } from 'node:crypto';

/** Members of JSON whose texts are about a user. */
const userMembers =
  'user|real_user|username|authUser|groupsQueryUser|bindDN|userDNMapping|groupsQuery|ldap_group_ref|emailUser|sender|recipients|disabledUsers|dn';
const userMember = new RegExp(`("(?:${userMembers})"\\s*:\\s*)"((?:[^"\\\\]|\\\\.)+)"`, 'g');
/** A path segment that names a user, a group or a document. */
const namingPath = /(\/rbac\/users\/\w+\/|\/rbac\/groups\/|\/docs\/)([^/?\s"\\]+)/g;
const mailAddress = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const word = /[\p{L}\p{N}_.@+-]+/gu;
/** The node's own accounts and the name of the product's nodes. */
const ownName = /^(@|ns_1@)/;

export class Redactor {
  readonly #salt: string;
  readonly #words: ReadonlySet<string>;
  readonly #phrases: RegExp | null;

  /** `names` are replaced wherever they occur as words. */
  constructor(salt: string, names: readonly string[]) {
    this.#salt = salt;
    const nonEmpty = names.filter((name) => name !== '');
    const isWord = (name: string) => name.match(word)?.[0] === name;
    this.#words = new Set(nonEmpty.filter(isWord));
    const phrases = nonEmpty.filter((name) => !isWord(name)).map((name) => escaped(jsonText(name)));
    this.#phrases = phrases.length > 0 ? new RegExp(phrases.join('|'), 'g') : null;
  }

  redact(text: string): string {
    const marked = text
      .replaceAll(userMember, (_, start: string, value: string) => `${start}"${this.#hashed(value)}"`)
      .replaceAll(namingPath, (_, path: string, name: string) => path + this.#hashed(decoded(name)));
    const named = this.#phrases ? marked.replaceAll(this.#phrases, (name) => this.#hashed(name)) : marked;
    return named
      .replaceAll(word, (match) => (this.#words.has(match) ? this.#hashed(match) : match))
      .replaceAll(mailAddress, (address) => (ownName.test(address) ? address : this.#hashed(address)));
  }

  #hashed(text: string): string {
    if (text.startsWith('<ud>') || ownName.test(text)) return text;
    return `<ud>${createHash('sha1').update(this.#salt).update(text).digest('hex')}</ud>`;
  }
}

/** The text as it is escaped in JSON. */
const jsonText = (text: string): string => JSON.stringify(text).slice(1, -1);
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
