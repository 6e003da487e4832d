// The kinds of parameter that the functions share, and what of a value is allowed in. Values come from runbooks and from member
// data, where an empty cell is an empty text: an optional parameter takes null and nothing for "not given".
import { z } from 'zod'

/** Nothing that Microsoft 365 names is longer. */
const NAME_CHARS_MAX = 1_024
const LIST_ITEMS_MAX = 2_000

export const nameParameter = z.string().trim().min(1).max(NAME_CHARS_MAX)

/** Must be given, be it as null or empty. */
export const orNothing = <Kind extends z.ZodType>(kind: Kind) =>
  z.union([kind, z.null(), z.literal('')]).transform((value) => (value === '' ? null : value))

/** Null when it was left out, is null, or is empty. */
export const optional = <Kind extends z.ZodType>(kind: Kind) =>
  z
    .union([kind, z.null(), z.literal('')])
    .optional()
    .transform((value) => (value === '' || value === undefined ? null : value))

export const objectId = z.guid().describe('The object id.')
export const userId = nameParameter.describe('The object id or the user principal name.')
export const recipientId = nameParameter.describe(
  'Anything that names one recipient: address, id or alias.',
)

const ADDRESS = /^[^\s@<>"(),:;]+@[^\s@<>"(),:;]+$/
const MISFIT_ADDRESS = 'is no mail address such as kim@contoso.com'

/** What a UPN and an address have in common. Whether the domain is the tenant's, the tenant says. */
export const address = z.string().trim().max(NAME_CHARS_MAX).regex(ADDRESS, MISFIT_ADDRESS)

const SMTP = /^smtp:/i
/** An address with or without `smtp:` before it; the prefix is taken off. */
export const smtpAddress = z
  .string()
  .trim()
  .max(NAME_CHARS_MAX)
  .refine((text) => ADDRESS.test(text.replace(SMTP, '')), MISFIT_ADDRESS)
  .transform(withoutSmtp)

export function withoutSmtp(text: string): string {
  return text.replace(SMTP, '')
}

/** `kim@contoso.com` is an SMTP address; another kind names itself, such as `x500:/o=…`. */
const PROXY = /^(?:smtp:)?[^\s@<>"(),:;]+@[^\s@<>"(),:;]+$|^(?!smtp:)[a-z0-9]{2,9}:\S.*$/i
export const proxyAddress = z
  .string()
  .trim()
  .max(NAME_CHARS_MAX)
  .regex(PROXY, 'is neither a mail address nor one with its kind before it, such as x500:/o=…')

/** One may stand alone. */
export const listParameter = <Kind extends z.ZodType>(kind: Kind) =>
  z
    .union([kind, z.array(kind).min(1).max(LIST_ITEMS_MAX)])
    .transform((value) => (Array.isArray(value) ? value : [value]))

export const expected = z
  .boolean()
  .default(true)
  .describe('False waits for, or asks for, the opposite.')

/** Text is compared without regard to upper and lower case, as the directory and PowerShell do. */
export const isSameText = (one: string, other: string): boolean =>
  one.toLowerCase() === other.toLowerCase()

const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
export const isGuid = (text: string): boolean => GUID.test(text)
