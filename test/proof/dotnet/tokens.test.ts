// Microsoft's library for tokens and our API judge the same ones: what one accepts the other accepts, except where ours is stricter on
// purpose.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SignJWT, UnsecuredJWT } from 'jose'
import { realClock } from '../../../src/base/run/clock.ts'
import { openApiUnderTest } from '../../api/under-test.ts'
import { AUDIENCE, claimsOf, newKey, signed, TestIssuer } from '../../kit/issuer.ts'
import { openJudge } from './judge.ts'

const clock = realClock()
/** We refuse these, and the library alone does not: a token for several services can be used by each of them at the others. */
const STRICTER = ['several audiences']

async function tokensOf(issuer: TestIssuer): Promise<Record<string, string>> {
  const [key, other] = await Promise.all([newKey('one'), newKey('one')])
  const stranger = await newKey('two')
  issuer.keys = [key!]
  const now = clock.now()
  const nowSec = Math.floor(+now / 1_000)
  const claims = (more: object = {}) => claimsOf(issuer.v2, now, more)
  const good = await signed(claims(), key!)
  const [header, payload, signature] = good.split('.') as [string, string, string]
  const forged = Buffer.from(JSON.stringify({ ...claims(), roles: ['Owner'] })).toString(
    'base64url',
  )
  const publicKey = new TextEncoder().encode(key!.open.n!)
  return {
    good,
    'several audiences': await signed(claims({ aud: ['else', AUDIENCE] }), key!),
    'no type': await signed(claims(), key!, { typ: undefined }),
    'other audience': await signed(claims({ aud: 'else' }), key!),
    'no audience': await signed(claims({ aud: undefined }), key!),
    'other issuer': await signed(claims({ iss: 'https://else.example' }), key!),
    'no issuer': await signed(claims({ iss: undefined }), key!),
    expired: await signed(
      claims({ exp: nowSec - 600, nbf: nowSec - 900, iat: nowSec - 900 }),
      key!,
    ),
    'no end': await signed(claims({ exp: undefined }), key!),
    'not yet': await signed(claims({ nbf: nowSec + 600 }), key!),
    'another key of that name': await signed(claims(), other!),
    'an unknown key': await signed(claims(), stranger),
    'no signature': new UnsecuredJWT(claims()).encode(),
    'signature cut off': `${header}.${payload}.`,
    'changed afterwards': `${header}.${forged}.${signature}`,
    'signed with the public key as a password': await new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(publicKey),
    'no token': 'no token',
    'five parts': `${good}.a.b`,
  }
}

describe('tokens', { timeout: 200_000 }, () => {
  it('are accepted and refused by the API as by Microsoft.IdentityModel', async (test) => {
    const judge = await openJudge('tokens.cs')
    if ('leftOut' in judge) return test.skip(`left out: ${judge.leftOut}`)
    const issuer = await new TestIssuer().open()
    const tokens = await tokensOf(issuer)
    const api = await openApiUnderTest({
      config: { oidcIssuers: [issuer.v2], oidcAudiences: [AUDIENCE], oidcApps: [] },
      options: { clock },
    })
    try {
      const said = await judge.ask<string>(
        [issuer.v2, AUDIENCE],
        `${Object.values(tokens).join('\n')}\n`,
      )
      const differing: unknown[] = []
      let accepted = 0
      for (const [at, [name, token]] of Object.entries(tokens).entries()) {
        const { status } = await api.call('GET', '/api/me', { token })
        const isOurs = status !== 401
        const isTheirs = said[at] === 'accepted'
        accepted += Number(isTheirs)
        if (isOurs !== isTheirs && !(STRICTER.includes(name) && isTheirs))
          differing.push({ name, status, theirs: said[at] })
      }
      assert.deepEqual(differing, [])
      assert.equal(said.length, Object.keys(tokens).length)
      assert.ok(accepted >= 3 && accepted < said.length, `${accepted} accepted`)
    } finally {
      await api.close()
      await issuer.close()
    }
  })
})
