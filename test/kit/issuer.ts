// A token issuer that tests control: rotating keys, servers that are down, responses without keys. Tokens are valid ones like Entra
// ID's, or forged.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose'

export const TENANT = '11111111-2222-3333-4444-555555555555'
export const AUDIENCE = 'aaaaaaaa-0000-0000-0000-000000000001'
export const ADA = 'ada00000-0000-0000-0000-000000000002'

export interface SigningKey {
  readonly kid: string
  readonly secret: CryptoKey
  readonly open: JWK
}

export async function newKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, secret: privateKey, open: { ...(await exportJWK(publicKey)), kid, use: 'sig' } }
}

/** Replaces the response with its keys. */
export type Mood = 'well' | 'down' | 'html' | 'redirect' | 'huge' | 'other issuer'

export class TestIssuer {
  keys: SigningKey[] = []
  mood: Mood = 'well'
  /** Number of requests for its keys. */
  asked = 0
  #server: Server | undefined
  #address = ''

  async open(): Promise<this> {
    this.#server = createServer((request, response) => {
      const answer = this.#answer(request.url ?? '')
      response.writeHead(answer.status, answer.headers).end(answer.text)
    })
    await new Promise<void>((resolve) => this.#server!.listen(0, '127.0.0.1', resolve))
    this.#address = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  /** Entra's version 2. */
  get v2(): string {
    return `${this.#address}/${TENANT}/v2.0`
  }
  get v1(): string {
    return `${this.#address}/${TENANT}/`
  }
  /** An issuer that follows only the standard. */
  get plain(): string {
    return `${this.#address}/plain`
  }

  #answer(url: string): { status: number; headers: Record<string, string>; text: string } {
    const headers = { 'content-type': 'application/json' }
    const ok = (value: unknown) => ({ status: 200, headers, text: JSON.stringify(value) })
    if (this.mood === 'down') return { status: 503, headers, text: '{}' }
    const issuer = [this.v2, this.v1, this.plain].find((one) =>
      url.startsWith(new URL(`${one.replace(/\/$/, '')}/.well-known/`).pathname),
    )
    if (issuer) {
      const named = this.mood === 'other issuer' ? 'https://else.example' : issuer
      return ok({ issuer: named, jwks_uri: `${this.#address}/keys` })
    }
    this.asked += 1
    if (this.mood === 'html') return { status: 200, headers, text: '<html>sign in here</html>' }
    if (this.mood === 'redirect')
      return { status: 302, headers: { location: `${this.#address}/elsewhere` }, text: '' }
    if (this.mood === 'huge') return ok({ keys: [], padding: 'x'.repeat(10_000_000) })
    return ok({ keys: this.keys.map(({ open }) => open) })
  }

  async close(): Promise<void> {
    this.#server!.closeAllConnections()
    await new Promise((resolve) => this.#server!.close(resolve))
  }
}

/** A person's version 2 token; undefined removes a claim. */
export function claimsOf(issuer: string, now: Date, more: object = {}): JWTPayload {
  const nowSec = Math.floor(+now / 1_000)
  const claims = {
    iss: issuer,
    aud: AUDIENCE,
    iat: nowSec,
    nbf: nowSec,
    exp: nowSec + 3_600,
    tid: TENANT,
    oid: ADA,
    sub: 'pairwise',
    ver: '2.0',
    azp: 'cli',
    scp: 'openid access_as_user',
    roles: ['Admin'],
    preferred_username: 'ada@contoso.example',
    ...more,
  }
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

export const signed = (claims: JWTPayload, key: SigningKey, header: object = {}): Promise<string> =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: key.kid, ...header })
    .sign(key.secret)
