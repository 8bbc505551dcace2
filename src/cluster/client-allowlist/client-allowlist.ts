// The setting of allowed client addresses, which the listeners of this node apply.
import { isAddressRange } from '#ports/address-ranges.ts';
import { operatorEntry } from '#ports/client-gate.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { SettingsStore } from '../config/settings.store.ts';
import type { ChangeNotifier } from '../config/until.ts';
import { WatchedSetting } from '../config/watched-setting.ts';

interface StoredAllowlist {
  /** Null: no list is set. Then every address is admitted or, on a node with an operator's address, only that one. */
  entries: string[] | null;
}

const name = 'clientAllowlist';
const noList: StoredAllowlist = { entries: null };

export const entriesMax = 1_000;

export class ClientAllowlist implements ChangeNotifier {
  readonly #setting: WatchedSetting<StoredAllowlist>;
  readonly #settings: SettingsStore;
  readonly #operatorAddress: string | undefined;

  /** `operatorAddress`, if given, is always admitted; without a list it is the only one. */
  constructor(store: ConfigStore, operatorAddress: string | undefined) {
    this.#setting = new WatchedSetting<StoredAllowlist>(store, name, noList);
    this.#settings = new SettingsStore(store);
    this.#operatorAddress = operatorAddress;
  }

  start(): Promise<void> {
    return this.#setting.start();
  }

  stop(): void {
    this.#setting.stop();
  }

  /** The list as it was set. */
  get entries(): readonly string[] | null {
    return this.#setting.value.entries;
  }

  /** The addresses that gates admit; null: all. */
  get admitted(): readonly string[] | null {
    const { entries } = this;
    if (this.#operatorAddress === undefined) return entries;
    return [...(entries ?? []), operatorEntry(this.#operatorAddress)];
  }

  get hasOperatorAddress(): boolean {
    return this.#operatorAddress !== undefined;
  }

  /** Resolves with the revision that holds the list. */
  set(entries: readonly string[] | null): Promise<number> {
    const unique = entries === null ? null : [...new Set(entries)];
    return this.#settings.replace<StoredAllowlist>(name, noList, (before) => ({
      ...before,
      entries: unique,
    }));
  }

  onChange(listener: () => void): { stop(): void } {
    return this.#setting.onChange(listener);
  }
}

/** Null if the body is valid. */
export function problemOf(body: unknown): string | null {
  const entries = (body as { entries?: unknown } | null)?.entries;
  if (!Array.isArray(entries)) return 'must be an array of addresses and networks';
  if (entries.length > entriesMax) return `must have at most ${entriesMax} entries`;
  const wrong = entries.find((entry) => typeof entry !== 'string' || !isAddressRange(entry));
  if (wrong === undefined) return null;
  return `${JSON.stringify(wrong)} is not an IPv4 or IPv6 address or network such as 10.1.0.0/16`;
}
