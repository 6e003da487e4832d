// A certificate that may be renewed while the process runs. It is read again before each request for a token, about once an hour. While the
// app registration does not know the new one yet, the one before still works: the order of the two renewals does not matter.
import { messageOf } from '../errors.ts'
import type { SigningCertificate } from './certificate.ts'

export interface RotatingCertificate {
  /** Those to try, the newest first. */
  candidates(): Promise<readonly SigningCertificate[]>
}

export interface RotationEvents {
  onRenewed(certificate: SigningCertificate): void
  /** The one known so far is used. */
  onUnreadable(reason: string): void
}

export function rotatingCertificate(
  first: SigningCertificate,
  read: () => Promise<SigningCertificate>,
  { onRenewed, onUnreadable }: RotationEvents,
): RotatingCertificate {
  let known: readonly SigningCertificate[] = [first]
  return {
    candidates: async () => {
      try {
        const fresh = await read()
        if (fresh.thumbprint !== known[0]!.thumbprint) {
          known = [fresh, known[0]!]
          onRenewed(fresh)
        }
      } catch (error) {
        onUnreadable(messageOf(error))
      }
      return known
    },
  }
}
