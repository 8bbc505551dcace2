// Why a connection with TLS was not made, in words that say what to do.

/** Codes of OpenSSL for a chain of certificates that leads to no trusted authority. */
const unknownAuthority: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** What OpenSSL says about an answer that is no record of TLS. */
const noTls = /wrong version number|packet length too long/;

/** Whether a server ended the handshake because it got no certificate of the client; TLS 1.2 does not say so. */
export const demandsCertificate = (error: unknown): boolean =>
  (error as { code?: string }).code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED';

/** The text of a failed connection. For a host with several addresses the error has no text, only the errors of all addresses. */
export function connectionProblem(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(connectionProblem).join('; ');
  const { code = '', message } = error as Error & { code?: string };
  if (unknownAuthority.has(code))
    return `no authority that is trusted here issued the server's certificate (${message}); give the certificate of the cluster's authority with --ca FILE: GET /pools/default/certificate answers with it`;
  if (demandsCertificate(error))
    return 'that port demands a client certificate, and this connection sends none; use the port without TLS, or set the state of /settings/clientCertAuth to "enable"';
  if (noTls.test(message)) return 'that port has no TLS; the REST API usually has TLS on port 18091';
  return message;
}
