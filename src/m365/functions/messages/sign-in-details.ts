// Hands a stored password or access pass to the person, or to the manager who passes it on. The step names the secret by the reference that
// another step returned; only this function puts a stored value into a mail. It sends no other secret than one of this account, and never
// to the account itself, whose mail nobody can read before the first sign-in. The value is in the mail alone: not in the result, the
// logs, the events or Sent Items.
import { z } from 'zod'
import { pathOf } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { readUser, textOf } from '../entra/entra-directory.ts'
import { secretNameOf, storedPassword } from '../entra/password.ts'
import { textsOf } from '../exchange/exchange-recipient.ts'
import { FunctionRefused } from '../failure.ts'
import { never } from '../inverse.ts'
import { address, isSameText, nameParameter, userId, withoutSmtp } from '../parameters.ts'

/** Where the value stands in the body. */
const PLACE = '[secret]'
const SUBJECT_CHARS_MAX = 255
const BODY_CHARS_MAX = 100_000

const parameters = z.strictObject({
  UserId: userId,
  Secret: nameParameter.describe(
    'What the step that made it returned: `{{AccessPassSecret}}` or `{{PasswordSecret}}`. It must be of this account.',
  ),
  From: address.describe('Mailbox that sends; Sent Items keep no copy.'),
  To: address.describe('A private address of the person, or the manager; not the account itself.'),
  Subject: z.string().trim().min(1).max(SUBJECT_CHARS_MAX),
  Body: z
    .string()
    .max(BODY_CHARS_MAX)
    .refine((text) => text.split(PLACE).length === 2, `must contain ${PLACE} once`)
    .describe(`Text with \`${PLACE}\` where the value belongs.`),
})
type Parameters = z.infer<typeof parameters>

const result = z.object({
  UserId: z.string(),
  Kind: z.enum(['access pass', 'password']),
  Status: z.number().describe('HTTP status of the response.'),
})

export const sendSignInDetails = defineM365Function({
  name: 'Send-SignInDetails',
  description:
    'Mails a stored password or access pass to the person or the manager. The value leaves the vault in this mail only.',
  parameters,
  result,
  permissions: { graph: ['Mail.Send', 'User.Read.All'] },
  isIdempotent: false,
  effect: 'tells',
  undo: null,
  effectOf: (params) => never(String(params.To), 'What was sent cannot be recalled.'),
  run: async (call: M365Call<Parameters>): Promise<z.infer<typeof result>> => {
    const { UserId, From, To, Subject, Body } = call.params
    const account = await readUser(call, UserId, ['id', 'userPrincipalName', 'proxyAddresses'])
    const addresses = [
      textOf(account.userPrincipalName),
      ...textsOf(account.proxyAddresses).map(withoutSmtp),
    ]
    if (addresses.some((own) => isSameText(own, To)))
      throw new FunctionRefused(
        `"${To}" is a mailbox of this account: the person cannot read it before the first sign-in. Send to a private address or to the manager.`,
      )
    const { kind, value } = await storedFor(call, textOf(account.id), addresses)
    const { status } = await call.tenant.graph.call({
      method: 'POST',
      path: pathOf`/users/${From}/sendMail`,
      body: {
        message: {
          subject: Subject,
          body: { contentType: 'Text', content: Body.split(PLACE).join(value) },
          toRecipients: [{ emailAddress: { address: To } }],
        },
        saveToSentItems: false,
      },
      signal: call.signal,
    })
    return { UserId: textOf(account.id), Kind: kind, Status: status }
  },
})

/** Passes are stored by the account's id, passwords by a name that it has had. */
async function storedFor(
  call: M365Call<Parameters>,
  id: string,
  addresses: readonly string[],
): Promise<{ readonly kind: 'access pass' | 'password'; readonly value: string }> {
  const { params, tenant, signal } = call
  const pass = await tenant.secrets.find(secretNameOf(call, 'access-pass', id), signal)
  if (pass !== null && pass === params.Secret)
    return { kind: 'access pass', value: await tenant.secrets.get(pass, signal) }
  for (const name of new Set(addresses)) {
    const password = await storedPassword(call, name)
    if (password?.reference === params.Secret) return { kind: 'password', value: password.value }
  }
  throw new FunctionRefused(
    'The secret is no password or access pass of this account. Nothing was sent. Pass on what the step that made it returned.',
  )
}
