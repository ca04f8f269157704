"""The site's GraphQL: a mutation that logs in, and a query, since no schema is without one."""

import graphene
import graphql_jwt


class Mutation(graphene.ObjectType):
    token_auth = graphql_jwt.ObtainJSONWebToken.Field()


class Query(graphene.ObjectType):
    hello = graphene.String()


schema = graphene.Schema(query=Query, mutation=Mutation)
