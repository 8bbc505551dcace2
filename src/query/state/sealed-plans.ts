// `encoded_plan`: the text of a prepared statement with a MAC of this process, so that clients cannot forge one. It is not encrypted.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';

export interface SealedPlan {
  readonly name: string;
  readonly text: string;
  readonly queryContext: string;
}

const sealBytes = 32;
const planBytesMax = 2 << 20;

export class SealedPlans {
  private readonly key: Uint8Array;

  constructor(key: Uint8Array) {
    this.key = key;
  }

  seal(plan: SealedPlan): string {
    const packed = gzipSync(JSON.stringify(plan));
    return Buffer.concat([this.sealOf(packed), packed]).toString('base64');
  }

  /** null if this process did not seal it. */
  open(encoded: string): SealedPlan | null {
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.length <= sealBytes) return null;
    const packed = bytes.subarray(sealBytes);
    if (!timingSafeEqual(this.sealOf(packed), bytes.subarray(0, sealBytes))) return null;
    return JSON.parse(gunzipSync(packed, { maxOutputLength: planBytesMax }).toString()) as SealedPlan;
  }

  private sealOf(packed: Uint8Array): Buffer {
    return createHmac('sha256', this.key).update(packed).digest();
  }
}
