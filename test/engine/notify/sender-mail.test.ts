// Mail through Graph as an app registration with a certificate: the sandbox's token service checks the assertion, its Graph takes the mail.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { notificationsOf } from '../../../src/app/roles/notifications.ts'
import { AZURE_ENDPOINTS, makeTokens } from '../../../src/base/sign-in/token.ts'
import { testItem } from '../../../src/domain/notifications/message.ts'
import { readNotificationSettings } from '../../../src/domain/notifications/read-settings.ts'
import { deliver } from '../../../src/engine/notify/channels.ts'
import { openMailCertificates } from '../../../src/engine/notify/mail-certificates.ts'
import { type RsaCertificate, rsaCertificate } from '../../kit/rsa-certificate.ts'
import { configFor } from '../../m365/functions/setting.ts'
import { GRAPH, id, openUnderTest, type UnderTest } from '../../sandbox/under-test.ts'

const TENANT = id(70)
const CLIENT = id(77)
const SENDER = 'migration@contoso.example'
const HOURS_MS = 3_600_000

describe('mail with a certificate', () => {
  let folder: string
  let [own, next, foreign] = [] as unknown as [RsaCertificate, RsaCertificate, RsaCertificate]
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mail-'))
    own = rsaCertificate()
    next = rsaCertificate()
    foreign = rsaCertificate()
  })
  after(() => rmSync(folder, { recursive: true }))

  const pemOf = ({ keyPem, certPem }: RsaCertificate) => `${keyPem}${certPem}`
  const put = (name: string, content: string | Buffer): string => {
    const file = join(folder, name)
    writeFileSync(file, content)
    return file
  }
  const openSandbox = (): Promise<UnderTest> =>
    openUnderTest({
      tenants: [
        {
          id: TENANT,
          domains: ['contoso.example'],
          applications: [{ clientId: CLIENT, certificates: [own.certPem, next.certPem] }],
          users: [{ id: id(1), userPrincipalName: SENDER, recipient: { kind: 'mailbox' } }],
        },
      ],
    })

  const channelOf = (keys: string) => {
    const read = readNotificationSettings(
      `{ channels: [{ name: leads, type: mail, from: ${SENDER}, to: [lead@contoso.example], tenant_id: ${TENANT}, client_id: ${CLIENT}, ${keys} }] }`,
    )
    assert.ok('settings' in read, JSON.stringify(read))
    return read.settings.channels[0]!
  }

  /** A sender whose channel has these keys. */
  function senderOf(
    { clock, sandbox }: UnderTest,
    keys: string,
    vault = new Map<string, Buffer>(),
  ) {
    const said: string[] = []
    const log = (_: unknown, line?: string) => void said.push(String(line))
    const certificates = openMailCertificates({
      clock,
      log: { info: log, warn: log } as never,
      readVault: async (name) => vault.get(name) ?? Promise.reject(new Error('not there')),
    })
    const tokens = makeTokens(clock, { ...AZURE_ENDPOINTS, entra: sandbox.url })
    const channel = channelOf(keys)
    const send = async (): Promise<string> => {
      const now = clock.now()
      const items = [testItem('leads', 'ada', now)]
      const { signal } = new AbortController()
      const graph = { url: sandbox.url, scope: GRAPH }
      const context = { tokens, certificates, graph, now, signal }
      const sent = await deliver(channel, { id: 'm-1', number: 1, items, left: 0 }, context)
      return sent.isDelivered ? 'delivered' : `${sent.isFinal ? 'final: ' : ''}${sent.reason}`
    }
    return { send, said }
  }

  it('signs in with PEM, PFX with a password, and one of the Key Vault', async () => {
    await using under = await openSandbox()
    const pem = put('own.pem', pemOf(own))
    const pfx = put('own.pfx', own.pfx('p w', 'aes256'))
    const password = put('password', 'p w\n')
    const vault = new Map([['mail', own.pfx('', 'aes256')]])
    const senders = [
      senderOf(under, `certificate_file: ${pem}`),
      senderOf(under, `certificate_file: ${pfx}, certificate_password_file: ${password}`),
      senderOf(under, 'certificate_name: mail', vault),
    ]
    for (const { send, said } of senders) {
      assert.equal(await send(), 'delivered')
      assert.deepEqual(said, [])
    }
    const mails = (await under.effects()).filter(({ what }) => what === 'mail sent')
    assert.equal(mails.length, 3)
    assert.equal(mails[0]!.clientId, CLIENT)
  })

  it('is not sent with a certificate that the app does not have, and says whose sign-in failed', async () => {
    await using under = await openSandbox()
    const { send } = senderOf(under, `certificate_file: ${put('foreign.pem', pemOf(foreign))}`)
    assert.match(await send(), /^Sign-in failed: Microsoft Entra ID returned 401: AADSTS700027/)
    assert.deepEqual(await under.effects(), [])
  })

  it('waits for a file that is missing or locked, without quoting it', async () => {
    await using under = await openSandbox()
    const file = join(folder, 'later.pfx')
    const wrong = put('wrong', 'guess')
    const { send } = senderOf(
      under,
      `certificate_file: ${file}, certificate_password_file: ${wrong}`,
    )
    assert.match(await send(), /^The certificate in .*later\.pfx is unusable: .*cannot be read/)
    put('later.pfx', own.pfx('p w', 'aes256'))
    const locked = await send()
    assert.match(locked, /later\.pfx is unusable: it cannot be read/)
    assert.doesNotMatch(locked, /guess/)
    put('wrong', 'p w')
    assert.equal(await send(), 'delivered')
  })

  it('takes a renewed certificate with the next token, without a restart', async () => {
    await using under = await openSandbox()
    const { send, said } = senderOf(under, `certificate_file: ${put('renewed.pem', pemOf(own))}`)
    assert.equal(await send(), 'delivered')
    put('renewed.pem', pemOf(next))
    assert.equal(await send(), 'delivered')
    assert.deepEqual(said, [])
    await under.clock.advance(2 * HOURS_MS)
    assert.equal(await send(), 'delivered')
    assert.deepEqual(said, ['The certificate of channel leads was renewed'])
    put('renewed.pem', 'broken')
    await under.clock.advance(2 * HOURS_MS)
    assert.equal(await send(), 'delivered')
    assert.deepEqual(said.slice(1), [
      'Cannot read the certificate of channel leads again: using the one known',
    ])
  })

  it('starts nothing when a channel names a certificate of the Key Vault and there is none', () => {
    const file = put(
      'channels.yaml',
      `{ channels: [{ name: leads, type: mail, from: ${SENDER}, to: [${SENDER}], tenant_id: ${TENANT}, client_id: ${CLIENT}, certificate_name: mail }] }`,
    )
    const config = configFor('http://127.0.0.1:1', TENANT, { MATOOLKIT_NOTIFICATIONS_FILE: file })
    assert.throws(
      () => notificationsOf({ config } as never),
      /Channel leads has certificate_name "mail", and MATOOLKIT_KEY_VAULT_URL is not set/,
    )
  })
})
