// The TLS options of listeners: the node's certificate, and the security settings of their service.
import type { TlsSpec } from '#ports/tls.ts';
import type { ChangeNotifier } from '../config/until.ts';
import type { SecurityService } from './security.service.ts';
import type { ServiceName } from './security-state.ts';

export class ServiceTls implements ChangeNotifier {
  readonly #certificates: ChangeNotifier & { current(): TlsSpec | null };
  readonly #security: SecurityService;

  constructor(certificates: ChangeNotifier & { current(): TlsSpec | null }, security: SecurityService) {
    this.#certificates = certificates;
    this.#security = security;
  }

  /** Null until there is a certificate. */
  current(service: ServiceName): TlsSpec | null {
    const certificate = this.#certificates.current();
    return certificate && { ...certificate, ...this.#security.tlsOf(service) };
  }

  onChange(listener: () => void): { stop(): void } {
    const following = [this.#certificates.onChange(listener), this.#security.onChange(listener)];
    return {
      stop() {
        for (const subscription of following) subscription.stop();
      },
    };
  }
}
