// Judges tokens as services of Microsoft's do: Microsoft.IdentityModel finds the issuer's keys by discovery and validates. Arguments: issuer,
// audience. Reads one token a line; one JSON value for each: "accepted", or the name of the refusal.
#:package Microsoft.IdentityModel.JsonWebTokens@6.8.0
#:package Microsoft.IdentityModel.Protocols.OpenIdConnect@6.8.0
#:property PublishAot=false
#:property NuGetAudit=false
#:property UseSharedCompilation=false
using System.Text.Json;
using Microsoft.IdentityModel.JsonWebTokens;
using Microsoft.IdentityModel.Protocols;
using Microsoft.IdentityModel.Protocols.OpenIdConnect;
using Microsoft.IdentityModel.Tokens;

var (issuer, audience) = (args[0], args[1]);
var metadata = new ConfigurationManager<OpenIdConnectConfiguration>(
    $"{issuer}/.well-known/openid-configuration",
    new OpenIdConnectConfigurationRetriever(),
    new HttpDocumentRetriever { RequireHttps = false });
var found = await metadata.GetConfigurationAsync();
var parameters = new TokenValidationParameters
{
    ValidIssuer = found.Issuer,
    ValidAudience = audience,
    IssuerSigningKeys = found.SigningKeys,
    ClockSkew = TimeSpan.FromSeconds(60),
};
var handler = new JsonWebTokenHandler();
while (Console.In.ReadLine() is { } token)
{
    var said = handler.ValidateToken(token, parameters);
    Console.WriteLine($"\"{(said.IsValid ? "accepted" : said.Exception.GetType().Name)}\"");
}
