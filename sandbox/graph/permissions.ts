// Application permissions that several routes accept.

export const READ_USER: readonly string[] = [
  'User.Read.All',
  'User.ReadBasic.All',
  'User.ReadWrite.All',
  'User.ReadUpdate.All',
  'Directory.Read.All',
  'Directory.ReadWrite.All',
]

export const READ_GROUP: readonly string[] = [
  'GroupMember.Read.All',
  'Group.Read.All',
  'Directory.Read.All',
  'GroupMember.ReadWrite.All',
  'Group.ReadWrite.All',
  'Directory.ReadWrite.All',
]
