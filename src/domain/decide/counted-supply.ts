// The answers of the function that counts licences, as a gate reads them.

/** The standard function whose answers a gate adds up. */
export const LICENCE_COUNT = 'Get-EntraLicenseCount'

/** What the answers for a batch's members say about one licence. */
export interface CountedLicence {
  /** The part number, such as SPE_E3. */
  readonly name: string
  /** Members who have it. */
  readonly held: number
  /** Free units of the tenant, as the newest answer says. */
  readonly free: number
  /** When that answer came. */
  readonly countedAt: Date
}

/** A licence that members of a batch are to get. */
export interface LicenceCount extends Omit<CountedLicence, 'held'> {
  readonly needed: number
}

/** Somebody without an answer needs one: their step failed, is repeated or has not run. */
export const licenceCount = (
  { held, ...counted }: CountedLicence,
  members: number,
): LicenceCount => ({ ...counted, needed: members - held })

export const isShort = ({ needed, free }: LicenceCount): boolean => needed > free
