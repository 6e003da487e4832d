// The vendor whose tenants this program changes. Another one is another folder next to m365, and this line.
export { M365 as FUNCTION_PACKAGE } from '../../m365/package.ts'
