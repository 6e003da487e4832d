// The signature of a webhook as Standard Webhooks 1.0 has it (standardwebhooks.com), for which receivers have libraries: HMAC-SHA256 over
// id, time and body. The time is that of the attempt, the id that of the message: old requests are refused, repeated ones recognised.
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'
const KEY_BYTES_MIN = 24
const KEY_BYTES_MAX = 64

/** Null unless it is 24 to 64 bytes in base64, with or without `whsec_`. */
export function readKey(text: string): Buffer | null {
  const base64 = text.trim().replace(PREFIX, '')
  const key = Buffer.from(base64, 'base64')
  const isWhole = key.toString('base64').replaceAll('=', '') === base64.replaceAll('=', '')
  return isWhole && key.length >= KEY_BYTES_MIN && key.length <= KEY_BYTES_MAX ? key : null
}

export function signedHeaders(
  key: Buffer,
  id: string,
  body: string,
  now: Date,
): Readonly<Record<string, string>> {
  const seconds = Math.floor(+now / 1_000)
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
  }
}
