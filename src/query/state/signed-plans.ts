// `encoded_plan`: the text of a prepared statement with a MAC of this process, so that clients cannot forge one. It is not encrypted.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';

export interface SignedPlan {
  readonly name: string;
  readonly text: string;
  readonly queryContext: string;
}

const macBytes = 32;
/** More than a plan takes: a statement has up to 1,048,576 characters, which JSON writes with up to six bytes each, besides names. */
const planBytesMax = 8 << 20;

export class SignedPlans {
  private readonly key: Uint8Array;

  constructor(key: Uint8Array) {
    this.key = key;
  }

  sign(plan: SignedPlan): string {
    const packed = gzipSync(JSON.stringify(plan));
    return Buffer.concat([this.macOf(packed), packed]).toString('base64');
  }

  /** null if this process did not sign it, or the text was changed. */
  verify(encoded: string): SignedPlan | null {
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.length <= macBytes) return null;
    const packed = bytes.subarray(macBytes);
    if (!timingSafeEqual(this.macOf(packed), bytes.subarray(0, macBytes))) return null;
    return JSON.parse(gunzipSync(packed, { maxOutputLength: planBytesMax }).toString()) as SignedPlan;
  }

  private macOf(packed: Uint8Array): Buffer {
    return createHmac('sha256', this.key).update(packed).digest();
  }
}
