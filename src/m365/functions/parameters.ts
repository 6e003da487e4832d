// Parameter kinds shared by the functions. Values come from runbooks and member data, where an empty cell is an empty text:
// optional parameters take null and empty text as "not given".

import { z } from 'zod'
import { sameName } from '../../base/text/same-name.ts'

/** No name in Microsoft 365 is longer. */
const NAME_CHARS_MAX = 1_024
export const LIST_ITEMS_MAX = 2_000

export const nameParameter = z.string().trim().min(1).max(NAME_CHARS_MAX)

/** Required, but may be null or empty. */
export const orNothing = <Kind extends z.ZodType>(kind: Kind) =>
  z.union([kind, z.null(), z.literal('')]).transform((value) => (value === '' ? null : value))

/** Null when missing, null or empty. */
export const optional = <Kind extends z.ZodType>(kind: Kind) =>
  z
    .union([kind, z.null(), z.literal('')])
    .optional()
    .transform((value) => (value === '' || value === undefined ? null : value))

export const objectId = z.guid().describe('Object id.')
export const userId = nameParameter.describe('Object id or user principal name.')
export const recipientId = nameParameter.describe('Address, id or alias of one recipient.')

const ADDRESS = /^[^\s@<>"(),:;]+@[^\s@<>"(),:;]+$/
const MISFIT_ADDRESS = 'is not a mail address such as kim@contoso.com'

/** The form shared by UPNs and mail addresses. Whether the tenant owns the domain, the tenant decides. */
export const address = z.string().trim().max(NAME_CHARS_MAX).regex(ADDRESS, MISFIT_ADDRESS)

/**
 * Somebody who gets a right. A name or an alias belongs to one tenant, and in the other one to a stranger; addresses and ids are the same
 * person everywhere.
 */
export const personId = z
  .string()
  .trim()
  .max(NAME_CHARS_MAX)
  .refine(
    (text) => isGuid(text) || ADDRESS.test(text),
    'is neither an address such as kim@contoso.com nor an object id. An alias of one tenant may be a stranger in the other',
  )
  .describe('Address, user principal name or object id of a person in this tenant.')

const DOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i
export const domainName = z
  .string()
  .trim()
  .max(255)
  .regex(DOMAIN, 'is not a domain such as contoso.com')
  .toLowerCase()

const SMTP = /^smtp:/i
/** An address with or without the prefix `smtp:`, which is removed. */
export const smtpAddress = z
  .string()
  .trim()
  .max(NAME_CHARS_MAX)
  .refine((text) => ADDRESS.test(text.replace(SMTP, '')), MISFIT_ADDRESS)
  .transform(withoutSmtp)

export function withoutSmtp(text: string): string {
  return text.replace(SMTP, '')
}

/** Without a prefix it is an SMTP address; other kinds carry theirs, such as `x500:/o=…`. */
const PROXY = /^(?:smtp:)?[^\s@<>"(),:;]+@[^\s@<>"(),:;]+$|^(?!smtp:)[a-z0-9]{2,9}:\S.*$/i
export const proxyAddress = z
  .string()
  .trim()
  .max(NAME_CHARS_MAX)
  .regex(PROXY, 'is neither a mail address nor a prefixed address such as x500:/o=…')

/** A list, or a single value that stands for a list of one. */
export const listParameter = <Kind extends z.ZodType>(kind: Kind) =>
  z
    .union([kind, z.array(kind).min(1).max(LIST_ITEMS_MAX)])
    .transform((value) => (Array.isArray(value) ? value : [value]))

/** A list that may be empty: a multi-valued column without a value. */
export const anyList = <Kind extends z.ZodType>(kind: Kind) =>
  z
    .union([kind, z.array(kind).max(LIST_ITEMS_MAX), z.null(), z.literal('')])
    .transform((value) => (Array.isArray(value) ? value : value ? [value] : []))

export const expected = z.boolean().default(true).describe('False tests for the opposite.')

/** Compares without case, as the directory and PowerShell do. */
export const isSameText = (one: string, other: string): boolean => sameName(one, other)

const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
export const isGuid = (text: string): boolean => GUID.test(text)

/** Exchange shows zeros for a GUID that is not set. */
export const isNoGuid = (text: string): boolean => text === '' || /^[0-]+$/.test(text)
